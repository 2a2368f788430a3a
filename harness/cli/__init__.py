"""The command line, one thin file a command. A leaf: nothing else imports it."""
