"""Tasks of telling apart: to which class does a passage, or an image, belong?"""
