"""The command line: flags to settings, settings to a command, results to print."""
