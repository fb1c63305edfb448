"""What lesson 17 leaves out of its list of names. (Its questions are in the text file of the same name.)"""

# Names of colours that people gave, and that nobody wants to read in class.
RUDE = ("poo", "shit", "piss", "puke", "vomit", "barf", "booger", "snot", "crap", "bile", "diarr")
