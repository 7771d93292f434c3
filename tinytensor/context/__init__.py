"""What is switched on in each thread, and how ``with`` blocks change it safely."""
