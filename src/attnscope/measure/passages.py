"""Plain texts to measure a model on where nobody gives any: some short passages of everyday English."""

PASSAGES = (
    "The ferry leaves the island at half past six in the morning, and anyone who misses it has to wait "
    "until noon. Most people walk down to the harbour while it is still dark, carrying baskets of eggs "
    "and letters for the mainland. The captain knows all of them by name. In winter he keeps a kettle on "
    "the stove of the cabin, and the passengers take turns to warm their hands around it before they go "
    "out to watch the lights of the town come nearer.",
    "To bake a plain loaf you need flour, water, salt and a little yeast. Mix the flour with the salt, "
    "stir the yeast into the water, and bring the two together until no dry flour is left. Let the dough "
    "rest for an hour, fold it over itself, and let it rest again. Heat the oven well before the bread "
    "goes in. A loaf is done when it sounds hollow as you knock on the bottom, and it should cool on a "
    "rack before it is cut.",
    "“Have you counted the chairs?” asked Martha. “Twice,” said her brother, “and there is one too few.” "
    "They looked at the table, which was set for nine, and at the clock, which said ten to seven. “Then "
    "somebody will have to sit on the piano stool,” said Martha. “It had better be you, because Aunt "
    "Helen will want to see the garden, and Uncle George cannot sit on anything that turns.”",
    "A river carries more than water. In spring it brings stones and sand from the mountains, and it lays"
    " them down where the valley widens and the current slows. Over the years the bed rises, until one "
    "flood is enough to send the river along a lower path. The old bed stays behind as a curved lake. "
    "From the air one can see many such lakes, one beside the other, and read from them where the river "
    "ran a hundred, five hundred and a thousand years ago.",
    "The committee met on 4 May and again on 11 May. At the first meeting the members agreed to repair "
    "the roof of the library, at a cost of 12,400, and to put off the new windows until the following "
    "year. At the second meeting they chose a builder. Three offers had come in; the lowest was refused, "
    "since it left out the gutters, and the second lowest was accepted. Work on the roof of the library "
    "begins on 1 June and is to end before the summer holidays.",
    "When the telescope was first pointed at that part of the sky, nobody expected to find anything. The "
    "region had been chosen because it was dark. After ten days of exposure the picture showed thousands "
    "of small spots, and each of them was a galaxy. Some were so far away that their light had travelled "
    "for most of the age of the universe. The astronomers counted the galaxies in the picture, multiplied"
    " by the size of the sky, and came to a number with eleven zeros.",
)  # fmt: skip

HIDDEN = "under the third blue flowerpot beside the old well"
"""What is to be found again."""

NEEDLE = f"The gardener keeps the spare key {HIDDEN}."
QUESTION = "Question: Where does the gardener keep the spare key?\nAnswer: The gardener keeps the spare key"
