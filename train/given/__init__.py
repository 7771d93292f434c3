"""What a user gives: values, paths and names of other libraries, checked and explained."""
