"""``af.live``: a page on which a network trains, made from the user's own loss.

Python records the loss once and writes it as JavaScript; from then on the browser computes everything. In the order of
reading: ``study.py`` records what the page computes and where that is in the source, ``cards.py`` arranges the cards
of the graph, ``page.py`` puts the page together (:func:`~.page.live`), and makes the same page for a notebook, where
Python gets the weights back.

The page: ``training.js`` holds the state and makes steps, ``paint.js`` draws arrays, data and curves, ``graph.js`` the
graph, ``panel.js`` the details of one card, ``page.js`` the controls.
"""
