"""The ``load.py`` that an exported model has beside it: one for each library that can run it.

They are programs of their own, which need that library and safetensors, and not tinytensor.
"""

_HEAD = """
import json
from pathlib import Path
"""

_REST = '''

def text_of(model, length=300, start="\\n"):
    """Some text by the model, each character drawn from what it makes of those before."""
    ids = json.loads((HERE / "vocabulary.json").read_text())
    symbols = list(ids)
    written = [ids.get(start, 0)]
    with torch.no_grad():
        for _ in range(length):
            probabilities = torch.softmax(next_logits(model, written) / 0.8, -1)
            written.append(int(torch.multinomial(probabilities, 1)))
    return "".join(symbols[i] for i in written[1:])


if __name__ == "__main__":
    print(text_of(load()))
'''

NANOGPT = (
    '''"""Load this model into nanoGPT.

Needs torch, safetensors, and nanoGPT's model.py beside this file or on PYTHONPATH:

    from load import load
    model = load()
"""
'''
    + _HEAD
    + '''
import torch
from model import GPT, GPTConfig
from safetensors.torch import load_file

HERE = Path(__file__).resolve().parent
CONFIG = json.loads((HERE / "config.json").read_text())
ACTIVATIONS = {
    "gelu": torch.nn.GELU(),
    "gelu_tanh": torch.nn.GELU(approximate="tanh"),
    "relu": torch.nn.ReLU(),
    "silu": torch.nn.SiLU(),
    "tanh": torch.nn.Tanh(),
    "sigmoid": torch.nn.Sigmoid(),
    "identity": torch.nn.Identity(),
}


def load():
    """The model as a GPT of nanoGPT, set to evaluate."""
    names = ("block_size", "vocab_size", "n_layer", "n_head", "n_embd", "dropout", "bias")
    model = GPT(GPTConfig(**{name: CONFIG[name] for name in names}))
    model.load_state_dict(load_file(HERE / "model.safetensors"))
    for block in model.transformer.h:
        block.mlp.gelu = ACTIVATIONS[CONFIG["activation"]]  # nanoGPT's own is the exact gelu
    return model.eval()


def next_logits(model, ids):
    """What the model makes of the next character after these, (vocab,)."""
    logits, _ = model(torch.tensor([ids[-CONFIG["block_size"] :]]))
    return logits[0, -1]
'''
    + _REST
)

HF = (
    '''"""Load this model with Hugging Face's transformers.

Needs torch, safetensors and transformers:

    from load import load
    model = load()
"""
'''
    + _HEAD
    + '''
import torch
from transformers import GPT2LMHeadModel

HERE = Path(__file__).resolve().parent


def load():
    """The model as a GPT2LMHeadModel, set to evaluate."""
    return GPT2LMHeadModel.from_pretrained(HERE).eval()


def next_logits(model, ids):
    """What the model makes of the next character after these, (vocab,)."""
    return model(torch.tensor([ids[-model.config.n_positions :]])).logits[0, -1]
'''
    + _REST
)

TORCH = (
    '''"""Load this model into PyTorch.

Needs torch and safetensors:

    from load import load
    model = load()
"""
'''
    + _HEAD
    + '''
import torch
from safetensors.torch import load_file

HERE = Path(__file__).resolve().parent
CONFIG = json.loads((HERE / "config.json").read_text())


class Model(torch.nn.Module):
    """Embedding, recurrent layers, head."""

    def __init__(self, config):
        super().__init__()
        layers = config["n_layer"]
        settings = {"batch_first": True, "dropout": config["dropout"] if layers > 1 else 0.0}
        if config["model"] == "RNN":
            settings["nonlinearity"] = config["nonlinearity"]
        kind = getattr(torch.nn, config["model"])
        self.wte = torch.nn.Embedding(config["vocab_size"], config["n_embd"])
        self.rnn = kind(config["n_embd"], config["n_hidden"], layers, **settings)
        self.dropout = torch.nn.Dropout(config["dropout"])
        self.lm_head = torch.nn.Linear(config["n_hidden"], config["vocab_size"])
        if config["tie_weights"]:
            self.lm_head.weight = self.wte.weight

    def forward(self, ids, state=None):
        """ids (batch, time) -> logits (batch, time, vocab), and the state after them."""
        features, state = self.rnn(self.wte(ids), state)
        return self.lm_head(self.dropout(features)), state


def load():
    """The model, set to evaluate."""
    model = Model(CONFIG)
    model.load_state_dict(load_file(HERE / "model.safetensors"))
    return model.eval()


def next_logits(model, ids):
    """What the model makes of the next character after these, (vocab,)."""
    return model(torch.tensor([ids]))[0][0, -1]
'''
    + _REST
)
