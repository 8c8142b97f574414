"""What a specialisation depends on, and how a program for it is compiled."""
