"""Names of ``torch.optim`` and ``torch.utils.data``, and what they are called here.

See :mod:`tinytensor.hints.other_names` for how the texts read.
"""

from __future__ import annotations

_TEXT = "TokenStream for text, or slices of an array: x[i : i + n]"
_ARRAY = "arrays, and x[rows] with rows = tt.randperm(len(x))[:n]"
_ADAM = "Adam or AdamW, or a subclass of Optimizer"
_SET = "optimizer.lr = ..., set in your loop"

#: ``tt.train``
OF_TRAIN = {
    "DataLoader": _TEXT,
    "Dataset": _ARRAY,
    "IterableDataset": _ARRAY,
    "TensorDataset": _ARRAY,
    "Subset": _ARRAY,
    "RandomSampler": _ARRAY,
    "random_split": _ARRAY,
    "lr_scheduler": "tt.train.schedule",
    "CosineAnnealingLR": "CosineWarmup",
    "CosineAnnealingWarmRestarts": "CosineWarmup",
    "OneCycleLR": "CosineWarmup",
    "LinearLR": "LinearWarmup",
    "StepLR": "StepDecay",
    "ExponentialLR": "ExponentialDecay",
    "LRScheduler": "Schedule",
    "LambdaLR": _SET,
    "MultiStepLR": f"StepDecay, or {_SET}",
    "PolynomialLR": f"LinearWarmup or CosineWarmup, or {_SET}",
    "ConstantLR": _SET,
    "SequentialLR": _SET,
    "CyclicLR": _SET,
    "ReduceLROnPlateau": _SET,
    "clip_grad_norm_": "clip_grad_norm, which writes to the gradients",
    "clip_grad_value_": "clip_grad_value, which writes to the gradients",
    "RMSprop": _ADAM,
    "ASGD": _ADAM,
    "SparseAdam": "Adam, which does as much for the gradients of nn.Embedding(..., sparse=True)",
    "Adadelta": _ADAM,
    "Adamax": _ADAM,
    "NAdam": _ADAM,
    "RAdam": _ADAM,
    "LBFGS": _ADAM,
    "Momentum": "SGD(params, lr, momentum=0.9)",
    "save": "tt.train.checkpoint.save, or tt.nn.save_weights(model, path)",
    "load": "tt.train.checkpoint.load, or model.load_state_dict(tt.nn.load_weights(path))",
    "save_weights": "tt.nn.save_weights(model, path)",
    "load_weights": "tt.nn.load_weights(path)",
    "fit": "Trainer",
    "train": "Trainer",
    "Tokenizer": "CharTokenizer",
    "Config": "TrainConfig",
    "DistributedDataParallel": "DataParallel",
}
#: attributes of a schedule
OF_SCHEDULE = {
    "step": "optimizer.lr = schedule(step), with the number of steps done",
    "get_lr": "schedule(step)",
    "get_last_lr": "optimizer.lr",
    "last_epoch": "the step, which is counted in your loop",
    "state_dict": "repr(schedule): it has no state, only the step of your loop",
    "load_state_dict": "the same numbers again: it has no state, only the step of your loop",
}
#: attributes of an optimiser
OF_OPTIMIZER = {
    "learning_rate": "optimizer.lr",
    "get_lr": "optimizer.lr",
    "set_lr": "optimizer.lr = ...",
    "groups": "optimizer.param_groups",
    "params": "optimizer.parameters()",
    "backward": "loss.backward(), then optimizer.step()",
    "minimize": "loss.backward(), then optimizer.step()",
    "apply_gradients": "optimizer.step()",
    "update_parameters": "optimizer.step()",
    "clip_gradients": "tt.train.clip_grad_norm(params, max_norm)",
    "clear_grad": "optimizer.zero_grad()",
}
