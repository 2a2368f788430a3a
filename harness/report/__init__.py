"""What people read of a run. A leaf: nothing else imports it."""
