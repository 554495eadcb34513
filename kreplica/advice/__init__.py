"""What an operator should set otherwise, judged from what is set: no connection, no file, no cluster touched."""
