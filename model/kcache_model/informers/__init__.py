"""What an informer owes its users: the rules, and the data on which they are judged."""
