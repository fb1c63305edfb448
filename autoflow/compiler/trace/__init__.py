"""From a function to a program: arrays that write down what NumPy does with them."""
