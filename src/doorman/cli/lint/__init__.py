"""`doorman lint`."""
