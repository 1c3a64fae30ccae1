"""`doorman describe`: all there is to know of an object, in kubectl's shape."""
