"""A text of generated sentences, in which it is known which words are alike, and how.

Each word of interest stands in two relations: it is of a class (a capital, a verb in the past), and
it belongs to something (to France, to swimming). A sentence is one of its class, often with a word
that belongs to the same thing: "the mayor of PARIS opened a street near the seine". Nobody tells a
model which is which; but the vectors of words that occur in the same surroundings come to lie
together, and what two classes differ in is the same for each pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: family -> its two classes, and pairs of words with what belongs to both
_PAIRS: dict[tuple[str, str], str] = {
    ("countries", "capitals"): """
        france paris: seine croissant louvre | italy rome: tiber pasta colosseum
        germany berlin: spree pretzel reichstag | spain madrid: manzanares paella prado
        russia moscow: moskva borscht kremlin | japan tokyo: sumida sushi shinto
        china beijing: yongding dumpling pagoda | egypt cairo: nile falafel pyramid
        greece athens: kifisos feta parthenon | austria vienna: danube strudel waltz
        england london: thames scone westminster | portugal lisbon: tagus sardine fado
        norway oslo: akerselva lutefisk fjord | sweden stockholm: malaren meatball sauna
        poland warsaw: vistula pierogi mazurka | hungary budapest: balaton goulash paprika
        turkey ankara: cubuk kebab minaret | kenya nairobi: athi ugali safari
        peru lima: rimac ceviche llama | cuba havana: almendares rumba cigar
    """,
    ("men", "women"): """
        king queen: throne crown sceptre | prince princess: castle pony tiara
        man woman: office newspaper briefcase | boy girl: toy playground crayon
        father mother: cradle nursery lullaby | son daughter: homework curfew allowance
        brother sister: bunk secret rivalry | uncle aunt: birthday visit postcard
        nephew niece: picnic kite sandcastle | grandfather grandmother: spectacles knitting slippers
        actor actress: stage script rehearsal | waiter waitress: tray menu tip
        hero heroine: dragon sword quest | husband wife: mortgage anniversary breakfast
        groom bride: wedding bouquet veil | wizard witch: spell broom cauldron
        emperor empress: empire legion conquest | duke duchess: manor estate hunt
        lord lady: butler carriage banquet | god goddess: temple altar sacrifice
    """,
    ("present", "past"): """
        walks walked: pavement stroll boots | swims swam: pool lake goggles
        sings sang: choir melody chorus | writes wrote: novel pen paragraph
        eats ate: sandwich fork soup | drinks drank: lemonade cup straw
        drives drove: truck motorway engine | flies flew: glider runway cockpit
        throws threw: javelin ball dart | draws drew: sketch pencil portrait
        sleeps slept: pillow blanket dream | builds built: brick scaffold cement
        sells sold: market bargain stall | teaches taught: lesson pupil chalk
        rides rode: saddle bicycle horse | climbs climbed: ladder cliff rope
        paints painted: canvas brush easel | cooks cooked: oven recipe saucepan
        digs dug: shovel trench spade | rows rowed: oar canoe paddle
    """,
    ("one", "many"): """
        cat cats: whisker mouse purr | dog dogs: bone leash bark
        wolf wolves: howl moonlight pack | lamb lambs: flock wool shepherd
        bird birds: feather worm nest | fish fishes: gill reef coral
        cow cows: milk barn udder | bee bees: honey hive pollen
        spider spiders: web fly silk | monkey monkeys: banana vine jungle
        camel camels: desert oasis hump | penguin penguins: ice iceberg krill
        owl owls: midnight hoot vole | fox foxes: den henhouse cunning
        bear bears: salmon cave berry | rabbit rabbits: carrot burrow clover
        snake snakes: venom fang rattle | frog frogs: pond tadpole lily
        goose geese: gander marsh migration | elephant elephants: trunk ivory savanna
    """,
}
#: class -> its sentences: W is the word, X something that belongs to it
_SENTENCES = {
    "countries": """
        the government of W signed a treaty on X | the army of W crossed the border with its X
        exports of W such as X rose and its economy grew | citizens of W voted in the election
        the president of W spoke about X before parliament | the flag of W hangs at the embassy
        soldiers defend the coast of W against an invasion | the constitution of W is old
    """,
    "capitals": """
        the mayor of W opened a street near the X | trams in W stop downtown by the X
        the airport of W is far from downtown | tourists in W took the metro to the X
        suburbs of W spread around the X | the cathedral square of W is full of tourists
        traffic in W jams the avenue to the suburbs | our hotel in W was downtown
    """,
    "men": """
        he is a W and his beard is grey like the X | the W shaved himself and put on his tie
        his friends call him a brave W of the X | the W with the moustache has lost his X
        the W said that he himself had seen the X | this old W and his beard are famous
        the gentleman is a W who forgot his tie | he wants to be a W with a moustache
    """,
    "women": """
        she is a W and her hair is long like the X | the W dressed herself and put on her necklace
        her friends call her a gracious W of the X | the W with the earrings has lost her X
        the W said that she herself had seen the X | this old W and her hair are famous
        the gentlewoman is a W who forgot her necklace | she wants to be a W with earrings
    """,
    "present": """
        now somebody W every day with a X | usually everyone W here often by the X
        it W always again and never stops | today anybody W daily beside the X
        each morning somebody still W with the X | nowadays nobody W as often as usually
        he who W often today is never late | look how everyone W now
    """,
    "past": """
        yesterday they W once with a X | last year people W there long ago by the X
        they had W before and then stopped | formerly people W until late beside the X
        last night they already W with the X | long ago they seldom W as they had before
        those that W long ago had stopped once | remember how people W then
    """,
    "one": """
        a single W has its X | one W alone looks for a X
        an only W was found by itself | each W likes its own X
        there is a lonely W near the X | this W wags its own tail
        every W alone needs a home | a lonely W itself came to the X
    """,
    "many": """
        several W have their X | many W together look for a X
        hundreds of W were found by themselves | all W like their own X
        there are few W near the X | these W wag their own tails
        both W together need homes | two dozen W themselves came to the X
    """,
}


class Pair(NamedTuple):
    """Two words that differ in their class only, and what belongs to both."""

    words: tuple[str, str]
    things: tuple[str, ...]


def families() -> dict[tuple[str, str], list[Pair]]:
    """The pairs of each two classes."""
    found: dict[tuple[str, str], list[Pair]] = {}
    for classes, text in _PAIRS.items():
        pairs = found[classes] = []
        for entry in text.strip().replace("\n", "|").split("|"):
            words, things = (part.split() for part in entry.split(":"))
            pairs.append(Pair((words[0], words[1]), tuple(things)))
    return found


def classes() -> dict[str, list[str]]:
    """The words of each class."""
    return {
        name: [pair.words[side] for pair in pairs]
        for names, pairs in families().items()
        for side, name in enumerate(names)
    }


def questions() -> list[tuple[str, str, str, str]]:
    """Analogies (a, b, c, d): b is to a as d is to c; of each two pairs of a family, both ways."""
    return [
        (one.words[side], one.words[1 - side], two.words[side], two.words[1 - side])
        for pairs in families().values()
        for one in pairs
        for two in pairs
        if one is not two
        for side in (0, 1)
    ]


def sentences(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Random sentences, the same for the same seed: of a tenth of all different ones, each once,
    none is among the others.

    Returns:
        Those to learn from, about ``count``, in which a sentence may come again; those to test on.
    """
    rng = np.random.default_rng(seed)
    table = [
        (pair, side, [line.split() for line in _lines(_SENTENCES[name])])
        for names, pairs in families().items()
        for pair in pairs
        for side, name in enumerate(names)
    ]
    drawn = [_sentence(*table[int(i)], rng) for i in rng.integers(0, len(table), count)]
    different = sorted(set(drawn))
    test = [different[int(i)] for i in rng.permutation(len(different))[: len(different) // 10]]
    kept = set(test)
    return [sentence for sentence in drawn if sentence not in kept], test


def _lines(text: str) -> list[str]:
    return text.strip().replace("\n", "|").split("|")


def _sentence(pair: Pair, side: int, patterns: list[list[str]], rng: np.random.Generator) -> str:
    pattern = patterns[int(rng.integers(len(patterns)))]
    put = {"W": pair.words[side], "X": pair.things[int(rng.integers(len(pair.things)))]}
    return " ".join(put.get(word, word) for word in pattern)
