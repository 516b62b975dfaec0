"""Trains a network with the op `nn.swiglu` in PyTorch: a module under torch.compile."""

import custom_op  # noqa: F401, its ops are in dlbridge.ops
import torch
from dlbridge import ops


class FeedForward(torch.nn.Module):
    def __init__(self, swiglu):
        super().__init__()
        self.gate, self.up = torch.nn.Linear(8, 32), torch.nn.Linear(8, 32)
        self.down = torch.nn.Linear(32, 1)
        self.swiglu = swiglu

    def forward(self, x):
        return self.down(self.swiglu(self.gate(x), self.up(x)))


def train(swiglu=ops.nn.swiglu, steps=20):
    """Returns the loss before each step."""
    torch.manual_seed(0)
    x = torch.randn(64, 8)
    y = x.square().mean(dim=1, keepdim=True)
    model = torch.compile(FeedForward(swiglu), fullgraph=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    print(*(f"{loss:.4f}" for loss in train()))
