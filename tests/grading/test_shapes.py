"""Lists, points, sets, named values, equations and the like: what is equal, what is not, what stays open."""

import asyncio
import itertools
import random
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.grading.expressions import Given
from llm_as_judge.grading.latex import normalize
from llm_as_judge.grading.pool import AlgebraPool
from llm_as_judge.grading.shape import parse_shape
from llm_as_judge.grading.symbolic import compare_shapes
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem

PAIRS: dict[str, list[tuple[str, str, bool | None]]] = {
    "named values": [
        ("length=5, width=3", "width = 3, length = 5", True),
        ("length=5, width=3", "length = 3, width = 5", False),
        (r"\text{apples}=3, \text{pears}=5", "apples=3, pears=5", True),
        ("apples=3, pears=5", "apples=5, pears=3", False),
        ("AB=5, BC=6", "BC=6, AB=5", True),
        ("AB=5, BC=6", "AB=6, BC=5", False),
        ("x=2, y=3", "X=2, Y=3", True),
        ("(1, 2), (3, 4)", "(x, y) = (3, 4), (1, 2)", True),
        ("(1, 2), (3, 4)", "x=1,y=2; x=3,y=4", True),
        ("(1, 2), (3, 4)", "x=2,y=1 or x=3,y=4", False),
        ("f(x)=2x, g(x)=x^2", "g(x)=x^2, f(x)=2x", True),
        ("f(x)=2x, g(x)=x^2", "f(x)=x^2, g(x)=2x", False),
        ("x=2, y=3", "$x = 2$ and $y = 3$", True),
        ("x=2, y=3", "x = 2; y = 3", True),
        ("x=2, y=3", "The solution is x = 2, y = 3.", True),
        ("x=2, y=3", "**x = 2, y = 3**", True),
        ("x=2, y=3", r"\boxed{x = 2, y = 3}", True),
        ("x=2, y=3", r"\boxed{(2, 3)}", True),
        ("x=2, y=3", r"\boxed{x=2 \text{ and } y=3}", True),
        ("(2,3)", r"\boxed{x=2,\quad y=3}", True),
        ("m=4, n=7", "m = 7, n = 4", False),
        ("m=4, n=7", "n = 7, m = 4", True),
        (r"x=2 \text{ and } y=3", "(x, y) = (3, 2)", False),
        ("A=1, B=-1", "A = 1 and B = -1", True),
        ("A=1, B=-1", "A = -1 and B = 1", False),
        ("x=-2, y=5", "(x,y) = (5,-2)", False),
        ("(1,2,3)", "x=1, y=2, z=3", True),
        ("(1,2,3)", "x=1, y=3, z=2", False),
        ("x=1, y=2, z=3", "(x,y,z)=(1,2,3)", True),
        ("x=1,y=2", "(1, 2)", True),
        ("x=1,y=2", "(2, 1)", False),
        (r"x=\sqrt{2}, y=1", r"x=1, y=\sqrt{2}", False),
        ("p = 2, q = 3", "q=3, p=2", True),
        (r"\alpha=1, \beta=2", r"\alpha=2,\beta=1", False),
        ("x=4, y=4", "x = y = 4", True),
        ("x=2, y=3", "x=2,y=3", True),
        ("x=2, y=3", "y=3, x=2", True),
        ("x=2, y=3", r"\begin{cases}x=2\\y=3\end{cases}", True),
        ("(x,y)=(2,3)", "(2,3)", True),
        ("(2,3)", r"x=2 \text{ and } y=3", True),
        ("(2,3)", "x=3, y=2", False),
        ("(2,3)", "y=2, x=3", False),
        ("(x,y)=(2,3)", "(3,2)", False),
        ("(a,b)=(1,2)", "a=2,b=1", False),
        ("x=2, y=3", "(y,x)=(3,2)", True),
        ("x=2, y=3", "(y,x)=(2,3)", False),
        ("x=2, y=3", "x=2", False),
        ("x=2, y=3", "x=2, y=3, z=4", False),
        (r"r=2, \theta=\frac{\pi}{3}", r"\theta = \pi/3, r = 2", True),
        (r"x=\frac12, y=3", "x=0.5, y=3", True),
        ("x_1=2, x_2=3", "2, 3", True),
        ("2, 3", "x_1=3, x_2=2", True),
        ("x=2, x=3", "x=3 or x=2", True),
        ("x=2,y=3 or x=3,y=2", "(2,3), (3,2)", True),
        ("(2,3), (3,2)", "(x,y)=(3,2) or (x,y)=(2,3)", True),
        ("a=1, b=2", "a=1, c=2", False),
        ("x=2, y=3", "x=3, y=3", False),
    ],
    "equations": [
        ("y=2x+1", "y-3=2(x-1)", True),
        ("3x+2y=6", r"\frac{x}{2}+\frac{y}{3}=1", True),
        ("y=-x+4", "x+y=4", True),
        ("y=-x+4", "x+y=-4", False),
        ("y=-x+4", "x-y=4", False),
        ("2x-3y+7=0", "3y=2x+7", True),
        ("2x-3y+7=0", "-2x+3y-7=0", True),
        ("2x-3y+7=0", r"y=\frac23x+\frac73", True),
        (r"y=\frac{2}{3}x-5", "2x-3y=15", True),
        (r"y=\frac{2}{3}x-5", "2x-3y-15=0", True),
        (r"y=\frac{2}{3}x-5", "2x+3y=15", False),
        ("x-2y+3z=4", r"z=\frac{4-x+2y}{3}", True),
        ("x-2y+3z=4", "-x+2y-3z+4=0", True),
        ("x^2+y^2=25", "y^2=25-x^2", True),
        ("x^2+y^2=25", "x^2+y^2=5", False),
        (r"\frac{x^2}{4}+\frac{y^2}{9}=1", "9x^2+4y^2=36", True),
        (r"\frac{x^2}{4}+\frac{y^2}{9}=1", "4x^2+9y^2=36", False),
        ("y=2x+1", "y=2*x+1", True),
        ("y = 2x + 1", "f(x) = 2x+2", False),
        ("y=2x+1", "y=1+2x", True),
        ("y=2x+1", "y-2x=1", True),
        ("y=2x+1", "4x-2y+2=0", True),
        ("y=2x+1", "y=2x-1", False),
        ("y=2x+1", "2x-y-1=0", False),
        ("2x+4y-3=0", "x+2y=3", False),
        ("2x+4y-3=0", r"x+2y=\frac32", True),
        ("x+2y+3z=6", r"z=2-\frac{x}{3}-\frac{2y}{3}", True),
        ("x+2y+3z=6", "2x+4y+6z=12", True),
        ("x+2y+3z=6", "x+2y+3z=7", False),
        ("x^2+y^2=4", "x^2+y^2-4=0", True),
        ("x^2+y^2=4", "x^2+y^2=2", False),
        ("y=2x+1", r"x=\frac{y-1}{2}", True),
        (r"y = \frac{1}{x}", "xy=1", True),
        ("y=x^2", "y=x^3", False),
        ("(x-1)^2+(y+2)^2=9", "x^2+y^2-2x+4y-4=0", True),
        ("y=2x+1", "f(x)=2x+1", True),
        ("2x+4y-3=0", "y = 2x+4", False),
        ("x=3", "3", True),
    ],
    "matrices": [
        (
            r"\begin{pmatrix}1&0\\0&1\end{pmatrix}",
            r"\begin{bmatrix} 1 & 0 \\ 0 & 1 \end{bmatrix}",
            True,
        ),
        (r"\begin{pmatrix}1&0\\0&1\end{pmatrix}", r"\begin{pmatrix}0&1\\1&0\end{pmatrix}", False),
        (
            r"\begin{pmatrix}1\\2\end{pmatrix}",
            r"\left(\begin{array}{c}1\\2\end{array}\right)",
            True,
        ),
        (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}1&2\end{pmatrix}", False),
        (
            r"\begin{pmatrix}1/2&0\\0&1\end{pmatrix}",
            r"\left[\begin{array}{cc}0.5&0\\0&1\end{array}\right]",
            True,
        ),
        (
            r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
            r"\left[\begin{array}{cc}1&2\\4&3\end{array}\right]",
            False,
        ),
        (r"\begin{bmatrix}1&2\\3&4\end{bmatrix}", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", True),
        (
            r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
            r"\left(\begin{array}{rr}1&2\\3&4\end{array}\right)",
            True,
        ),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "[[1,2],[3,4]]", True),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{pmatrix}1&3\\2&4\end{pmatrix}", False),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{bmatrix}1&2\\3&5\end{bmatrix}", False),
        (r"\begin{pmatrix}1\\2\end{pmatrix}", "(1,2)", None),
        (r"\begin{pmatrix}1\\2\end{pmatrix}", "(1,3)", None),
    ],
    "values for each integer": [
        (r"\frac{\pi}{4}+k\pi", r"\frac{\pi}{4}+k\pi, \quad k\in\mathbb{Z}", True),
        (r"\frac{\pi}{4}+k\pi", r"\frac{\pi}{4}+\pi k \text{ for } k \in \mathbb{Z}", True),
        (r"\frac{\pi}{4}+k\pi", r"\frac{\pi}{4}+\pi k, where k is an integer", True),
        (r"\frac{\pi}{4}+k\pi", r"\frac{\pi}{4}+2\pi k, k\in\mathbb{Z}", False),
        (r"\frac{\pi}{4}+k\pi", r"\frac{\pi}{3}+\pi k, k\in\mathbb{Z}", False),
        (r"x=k\pi, k\in\mathbb{Z}", r"x = \pi n, n \in \mathbb{Z}", True),
        (r"2k+1, k \in \mathbb{Z}", r"2k-1, k \in \mathbb{Z}", True),
        (r"2k+1, k \in \mathbb{Z}", r"2k, k \in \mathbb{Z}", False),
        (r"\frac{\pi}{6}+2k\pi", r"\frac{\pi}{6}+2n\pi, n \in \mathbb{Z}", True),
        (r"\frac{\pi}{6}+2k\pi, k \in \mathbb{Z}", r"\frac{\pi}{6}-2\pi k, k\in \mathbb Z", True),
        (r"\frac{\pi}{6}+2k\pi, k \in \mathbb{Z}", r"\frac{13\pi}{6}+2\pi k", True),
        (r"\frac{\pi}{6}+2k\pi, k \in \mathbb{Z}", r"\frac{\pi}{6}+k\pi, k\in \mathbb Z", False),
        (r"\frac{\pi}{6}+2k\pi, k \in \mathbb{Z}", r"\frac{\pi}{3}+2k\pi, k\in \mathbb Z", False),
        (r"x = \frac{\pi}{4} + k\pi", r"x = \frac{\pi}{4}+n\pi \text{ for any integer } n", True),
        (
            r"\frac{\pi}{6}+2k\pi, \frac{5\pi}{6}+2k\pi, k \in \mathbb{Z}",
            r"\frac{5\pi}{6}+2\pi n, \frac{\pi}{6}+2\pi n, \text{ where } n \text{ is an integer}",
            True,
        ),
    ],
    "sequences": [
        (r"2, 4, 6, \ldots, 2n", r"2, 4, 6, 8, \ldots, 2n", True),
        (r"2, 4, 6, \ldots, 2n", r"2, 4, \dots, 2n", True),
        (r"a_1, a_2, \ldots, a_n", r"a_1, a_2, a_3, \ldots, a_n", None),
        (r"1, 2, \ldots, n", "1, 2, 3, ..., n", True),
        (r"1,2,\ldots,n", r"0,1,2,\ldots,n", False),
        (r"1,2,\ldots,n", r"1,2,\ldots,2n", False),
        (r"1, 2, \ldots, n", r"1, 2, 3, 4, \dots, n", True),
        (r"1, 3, 5, \ldots", r"1, 3, 5, 7, \cdots", True),
        (r"1, 3, 5, \ldots", r"1, 3, 6, \ldots", False),
        (r"1,2,\ldots,n", r"1,2,\ldots,n-1,n", True),
        (r"1,2,\ldots,n", r"1,2,\ldots,n-1", False),
        (r"1,2,3,\ldots", "1,2,3", False),
        (r"2,4,8,\ldots", r"2,4,8,16,\ldots", True),
        (r"1,2,\ldots", r"1,2,4,8,\ldots", None),
        (r"1,2,\ldots,n", r"2,3,\ldots,n", False),
        (r"\{1,2,\ldots,10\}", r"\{1,2,3,\ldots,10\}", True),
        (r"1, 2, 3, \ldots, 10", "1, 2, 3, ..., 10", True),
    ],
    "sets": [
        (r"2\pi", r"x > 2\pi", False),
        (r"x > 2\pi", r"2\pi", False),
        (r"\{1,2,3\}", "1, 2, 3", True),
        (r"\{1,2,3\}", "{3, 2, 1}", True),
        (r"\{1,2,3\}", r"\left\{1,2,3\right\}", True),
        (r"\{1,2,3\}", r"x \in \{1,2,3\}", True),
        ("[-1,1]", "−1 ≤ x ≤ 1", True),
        ("[-1,1]", "x ∈ [-1, 1]", True),
        ("[-1,1]", r"\{x \mid -1 \le x \le 1\}", True),
        ("[-1,1]", "|x| < 1", False),
        ("[-1,1]", "-1 < x < 1", False),
        (r"\varnothing", "∅", True),
        (r"\varnothing", "There is no solution.", True),
        (r"\varnothing", "no real solutions", True),
        (r"\text{no solution}", "There are no solutions.", True),
        (r"\text{no solution}", "x=2", False),
        (r"(-\infty,-2)\cup(-2,\infty)", "x ≠ -2", True),
        (r"(-\infty,-2)\cup(-2,\infty)", r"\{x \in \mathbb{R} \mid x \neq -2\}", True),
        (r"(-\infty,-2)\cup(-2,\infty)", r"x < -2 \text{ or } x > -2", True),
        (r"(-\infty,-2)\cup(-2,\infty)", r"x \ne 2", False),
        (r"(-\infty,-2)\cup(-2,\infty)", r"\mathbb{R}", False),
        (r"\mathbb{R}", "x is any real number", True),
        (r"\mathbb{R}", "all reals", True),
        (r"\mathbb{R}", "the set of all real numbers", True),
        (r"\mathbb{R}", "ℝ", True),
        ("all real numbers", "every real number", True),
        (r"(-\infty,\infty)", "all positive real numbers", None),
        (r"(0,\infty)", "x>0", True),
        (r"(0,\infty)", r"x \ge 0", False),
        (r"[2,\infty)", r"x \geq 2", True),
        (r"(-\infty,2]\cup[5,\infty)", r"x \le 2 or x \ge 5", True),
        (r"(-\infty,2]\cup[5,\infty)", r"x \le 2, x \ge 5", True),
        (r"(-\infty,2]\cup[5,\infty)", r"2 \le x \le 5", False),
        ("(2,5)", "x>2 and x<5", True),
        (r"\{0\}\cup[1,2]", r"x=0 or 1 \le x \le 2", True),
        ("[0,4]", r"0\leq x\leq 4", True),
        ("[0,4]", r"|x-2|\le 2", True),
        ("(-3,3)", "x^2<9", True),
        (r"(-\infty,-3)\cup(3,\infty)", "x^2>9", True),
        (r"\mathbb{R}\setminus\{0\}", r"x \neq 0", True),
        (r"\mathbb{R}\setminus\{0\}", r"(-\infty,0)\cup(0,\infty)", True),
        (r"\mathbb{R}\setminus\{-1,1\}", r"x\neq\pm1", True),
        (r"\mathbb{R}\setminus[0,1]", "x<0 or x>1", True),
        (r"\{-2,2\}", r"x=\pm 2", True),
        (r"\{-2,2\}", r"\pm 2", True),
        (r"\{1\}\cup\{2\}\cup\{3\}", "{1,2,3}", True),
        (r"\{1,2\}\cap\{2,3\}", r"\{2\}", True),
        (r"\{1,2\}\cup\{2,3\}", r"\{1,2,3\}", True),
        (r"\{1,2\}\cup\{3\}", r"\{1,2,4\}", False),
        (r"(-\infty,1)\cup(1,\infty)", r"\mathbb{R}\setminus\{1\}", True),
        (r"(-\infty,1)\cup(1,\infty)", r"x \ne 2", False),
        (r"(-\infty,1)\cup(1,3)\cup(3,\infty)", r"x \neq 1, 3", True),
        (r"(-\infty,1)\cup(1,3)\cup(3,\infty)", r"x \neq 1 \text{ and } x\ne 3", True),
        (r"(-\infty,-1)\cup(1,\infty)", "|x|>1", True),
        (r"(-\infty,-1)\cup(1,\infty)", r"|x|\ge 1", False),
        ("[-1,1]", r"-1 \le x \le 1", True),
        ("[1,5]", r"|x-3| \le 2", True),
        ("(1,5)", r"|x-3| \le 2", False),
        (r"\mathbb{R}", r"x \in \mathbb{R}", True),
        (r"\mathbb{R}", r"(-\infty,\infty)", True),
        ("all real numbers", r"\mathbb{R}", True),
        ("all real numbers", r"[0,\infty)", False),
        (r"\text{no solution}", r"\varnothing", True),
        (r"\varnothing", r"\{0\}", False),
        (r"\varnothing", "0", False),
        (r"[0,1)\cup[1,2]", "[0,2]", True),
        ("(0,2)", r"(0,1)\cup(1,2)", False),
        ("x>3", r"(3,\infty)", True),
        ("x>3", "3<x", True),
        ("x>3", r"x \ge 3", False),
        ("2x+3>9", "x>3", True),
        ("x^2<4", "-2<x<2", True),
        (r"(-\infty,-\sqrt{2})\cup(\sqrt{2},\infty)", "x^2>2", True),
        (r"(1, \sqrt{3+2\sqrt{2}}]", r"1 < x \le 1+\sqrt 2", True),
        ("x+y>3", "y>3-x", True),
        ("x+y>3", r"x+y\ge 3", False),
        ("x+y>3", "x+y<3", False),
        ("x>1, x<3", "(1,3)", True),
        ("x<1 or x>3", r"(-\infty,1)\cup(3,\infty)", True),
        ("x<1 or x>3", "(1,3)", False),
        (r"\{x \mid x > 2\}", r"(2,\infty)", True),
        (r"\mathbb{R}\setminus\{1,2\}", r"\mathbb{R}\setminus\{2,1\}", True),
        (r"\mathbb{R}\setminus\{1,2\}", r"\mathbb{R}\setminus\{1,3\}", False),
        (r"\mathbb{Z}", r"\mathbb{Q}", None),
        ("(a, a+1)", "a<x<1+a", True),
        (r"\mathbb{R}\setminus\{-2\}", r"\mathbb{R} - \{-2\}", True),
        (r"\mathbb{R}\setminus\{\pm 1\}", r"x \ne \pm 1", True),
        (r"(-\infty,-1)\cup(-1,1)\cup(1,\infty)", r"x \ne \pm 1", True),
    ],
    "functions": [
        (r"12\pi", r"Area = 12\pi", True),
        (r"12\pi", r"area=13\pi", False),
        (r"\{(1,2),(2,1)\}", r"(x,y)\in\{(2,1),(1,2)\}", True),
        (r"x=2\sqrt{3}", r"AB = 2\sqrt{3}", None),
        (r"\sin x=\frac12", "x", None),
        ("y=x^2", "y=x^2, x>0", None),
        (r"\frac{1}{x}, x \ne 0", r"\frac{1}{x}", None),
        ("x^2+1", "f(x)=x^2+1", True),
        ("f(x)=x^2+1", "f(x)=x^2+2", False),
        ("e^{-2x}", r"\exp(-2x)", True),
        ("e^{-2x}", r"\exp{(-2x)}", True),
        ("e^{3}", "exp(3)", True),
        ("2e^{x}", r"2\exp x", True),
        (r"\ln 2", r"\log_e 2", True),
        (r"\arctan x", r"\tan^{-1} x", True),
        (r"\frac{1}{x}", "x^{-1}", True),
        (r"\sqrt{x}", "x^{1/2}", True),
        ("e^{-x}", "exp(-x)", True),
        ("e^{x^2/2}", r"\exp\left(\frac{x^2}{2}\right)", True),
        ("e^{-x}", r"\exp(x)", False),
        ("3e^{2}", r"3\exp(2)", True),
        (r"\sqrt[3]{x}", "x^{1/3}", True),
        ("x^{1/3}", r"\sqrt[3]{x}", True),
        (r"\frac{n(n-1)}{2}", r"\binom{n}{2}", True),
        (r"\cos x", r"\frac{1}{\sec x}", True),
        (r"\frac{\sqrt{3}}{2}", r"\sin 60^\circ", None),
        (r"\frac{1}{\cos x}", r"\sec x", True),
        (r"\frac{x}{2}", "1/2 x", True),
        (r"\frac{x}{2}", "1/2x", None),
        (r"\frac{1}{2x}", "1/3x", False),
        (r"\frac\pi2", r"\frac{\pi}{2}", True),
        (r"2\pi+\frac{\sqrt6}2", r"\frac{\sqrt{6}}{2}+2\pi", True),
    ],
    "divided by zero": [
        (r"\frac{0}{0}", "0", None),
        ("1/0", "2/0", None),
        (r"\frac{x}{0}", r"\frac{2x}{0}", None),
        (r"\infty", r"\frac{1}{0}", None),
        ("x+1", r"x+\frac{0}{0}", None),
    ],
    "units": [
        (r"12\pi\text{ cm}^2", r"12\pi \text{ cm}^2", True),
        (r"12\pi\text{ cm}^2", r"12\pi cm^2", True),
        (r"12\pi\text{ cm}^2", r"12\pi square centimeters", True),
        (r"12\pi\text{ cm}^2", r"12\pi", True),
        (r"12\pi\text{ cm}^2", r"12\pi\text{ cm}^3", False),
        (r"12\pi\text{ cm}^2", r"13\pi\text{ cm}^2", False),
        (r"12\pi\text{ cm}", r"12\pi\text{ m}", None),
        (r"\sqrt{3}\text{ km/h}", r"\sqrt{3}\text{ km}", False),
        (r"\sqrt{3}\text{ km/h}", r"\sqrt{3} \text{ km}/\text{h}", True),
        (r"\sqrt{3}\text{ miles per hour}", r"\sqrt{3}\text{ miles/hour}", True),
        (r"9\pi\text{ square feet}", r"9\pi\text{ feet}", False),
        (r"9\pi\text{ cubic inches}", r"9\pi\text{ inches}^3", True),
        (r"9\pi\text{ cubic inches}", r"9\pi\text{ square inches}", False),
        (r"2\pi xy", r"2\pi yx", True),
        (r"9\pi\text{ square units}", r"9\pi\text{ units}", False),
    ],
}
OF_POSITIVE = [
    ("Simplify, for x > 0.", "x", r"\sqrt{x^2}", True),
    ("Simplify.", "x", r"\sqrt{x^2}", None),
    ("Let a and b be positive real numbers. Simplify.", r"\sqrt{ab}", r"\sqrt{a}\sqrt{b}", True),
    ("Assume all variables are positive.", r"x\sqrt{y}", r"\sqrt{x^2y}", True),
    ("Simplify for positive x.", "x", "|x|", True),
    (r"Simplify for $x\ge 0$.", "x", "-x", False),
    ("Let $n$ be a positive integer.", r"\sqrt{n}\cdot n", "n^{3/2}", True),
    ("The numbers x, y are nonnegative.", r"\ln x+\ln y", r"\ln(xy)", True),
]


def problem(gold: str, question: str = "What is it?") -> Problem:
    return Problem("math/t/1", "math", "math", question, (gold,))


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("kind", PAIRS)
async def test_answers_of_each_kind(rules: Judge, kind: str) -> None:
    found = [
        (gold, answer, (await rules.grade(problem(gold), answer)).correct)
        for gold, answer, _ in PAIRS[kind]
    ]
    assert found == PAIRS[kind]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("question", "gold", "answer", "correct"), OF_POSITIVE)
async def test_the_question_says_what_is_positive(
    rules: Judge, question: str, gold: str, answer: str, correct: bool | None
) -> None:
    assert (await rules.grade(problem(gold, question), answer)).correct is correct


def relation(gold: str, answer: str) -> str:
    return compare_shapes(parse_shape(normalize(gold)), parse_shape(normalize(answer)), Given())


WHOLE = st.integers(-50, 50)
FACTOR = st.fractions(Fraction(-9), Fraction(9), max_denominator=9).filter(bool)
DRAWN = settings(max_examples=15)


@DRAWN
@given(st.lists(WHOLE, min_size=2, max_size=4, unique=True), st.randoms(use_true_random=False))
def test_names_keep_their_values(values: list[int], draw: random.Random) -> None:
    named = [f"{name}={value}" for name, value in zip("abcd", values, strict=False)]
    gold = ", ".join(named)
    turned = [
        f"{name}={value}" for name, value in zip("abcd", [*values[1:], values[0]], strict=False)
    ]
    assert relation(gold, ", ".join(turned)) == "different"
    draw.shuffle(named)
    assert relation(gold, " and ".join(named)) == "equal"
    point = ",".join(map(str, values))
    names = ",".join("abcd"[: len(values)])
    assert relation(f"({point})", ", ".join(named)) == "equal"
    assert relation(f"({names})=({point})", ", ".join(named)) == "equal"


@DRAWN
@given(st.lists(WHOLE.filter(bool), min_size=3, max_size=4), FACTOR)
def test_a_line_or_plane_is_the_same_up_to_a_factor(numbers: list[int], factor: Fraction) -> None:
    def equation(numbers: list[Fraction]) -> str:
        *slopes, constant = (f"{n.numerator}/{n.denominator}" for n in numbers)
        terms = [rf"({slope})\cdot {name}" for slope, name in zip(slopes, "xyz", strict=False)]
        return "+".join([*terms, f"({constant})"]) + "=0"

    gold = equation([Fraction(n) for n in numbers])
    assert relation(gold, equation([n * factor for n in numbers])) == "equal"
    *slopes, constant = numbers
    assert (
        relation(gold, equation([*(n * factor for n in slopes), (constant + 1) * factor]))
        == "different"
    )
    *others, last = slopes
    solved = "".join(rf"-({slope})\cdot {name}" for slope, name in zip(others, "xyz", strict=False))
    name = "xyz"[len(others)]
    assert relation(gold, rf"{name}=\frac{{{solved}-({constant})}}{{{last}}}") == "equal"
    assert relation(gold, rf"{name}=\frac{{{solved}-({constant})+1}}{{{last}}}") == "different"


@DRAWN
@given(st.lists(WHOLE, min_size=2, max_size=5, unique=True), st.integers(1, 4))
def test_sets_are_their_members(members: list[int], at: int) -> None:
    def written(values: list[int]) -> str:
        return r"\{" + ",".join(map(str, values)) + r"\}"

    one, other = members[:at], members[at - 1 :]
    assert relation(written(members), rf"{written(one)}\cup{written(other)}") == "equal"
    assert relation(written(members), rf"{written(one)}\cup{written([*other, 51])}") == "different"
    without = rf"\mathbb{{R}}\setminus{written(members)}"
    ends = [r"-\infty", *map(str, sorted(members)), r"\infty"]
    pieces = [f"({low},{high})" for low, high in itertools.pairwise(ends)]
    assert relation(without, r"\cup ".join(pieces)) == "equal"
    assert relation(without, r"\cup ".join(pieces[1:])) == "different"
    assert relation(without, rf"x \ne {', '.join(map(str, members))}") == "equal"


@settings(DRAWN, max_examples=6)
@given(WHOLE, st.integers(1, 30), st.sampled_from(["<", r"\le "]))
def test_an_inequality_is_its_interval(middle: int, width: int, sign: str) -> None:
    low, high = middle - width, middle + width
    brackets = "()" if sign == "<" else "[]"
    gold = f"{brackets[0]}{low},{high}{brackets[1]}"
    for answer in (
        f"|x-({middle})|{sign}{width}",
        f"{low}{sign}x{sign}{high}",
        f"|2x-({2 * middle})|{sign}{2 * width}",
    ):
        assert relation(gold, answer) == "equal"
    assert relation(gold, f"|x-({middle})|{sign}{width + 1}") == "different"
    assert (
        relation(gold, f"|x-({middle})|{sign.replace('<', '>').replace('le', 'ge')}{width}")
        == "different"
    )


@DRAWN
@given(WHOLE, WHOLE.filter(bool), st.integers(3, 5), st.integers(3, 5))
def test_a_sequence_goes_on_as_it_began(start: int, step: int, shown: int, also: int) -> None:
    members = [str(start + n * step) for n in range(12)]
    gold = ",".join(members[:shown]) + r",\ldots,n"
    assert relation(gold, ",".join(members[:also]) + r",\dots,n") == "equal"
    assert relation(gold, ",".join(members[:also]) + r",\dots,m") != "equal"
    members[1] = str(start + step + 1)
    assert relation(gold, ",".join(members[:also]) + r",\dots,n") == "different"


@DRAWN
@given(st.integers(1, 11), st.integers(1, 4), st.integers(-3, 3), st.sampled_from([1, -1]))
def test_values_for_each_integer_may_begin_anywhere(
    twelfths: int, period: int, shift: int, sign: int
) -> None:
    gold = rf"\frac{{{twelfths}\pi}}{{12}}+{period}k\pi, k\in\mathbb{{Z}}"
    begin = twelfths + 12 * period * shift
    answer = rf"x=\frac{{{begin}\pi}}{{12}}{'+' if sign > 0 else '-'}{period}\pi n"
    assert relation(gold, answer) == "equal"
    assert relation(gold, answer.replace("n", f"n+{period}\\pi/5")) == "different"


# ---------------------------------------------------------------------------------- hostile texts
WRITTEN = (
    r"\frac{ } { ( ) [ ] \{ \} , ; = < > \le \ne \in \mathbb{Z} \mathbb{R} \cup \setminus \ldots \sqrt \sqrt[3]{ \exp( | ! ^ ^{ _ _{"
    r" + - * / \cdot \pm \text{ \text{or} and or x y k e i 0 1 2 9 99999 1/0 \infty \pi \begin{pmatrix} \end{pmatrix} & \\ \circ"
    r" \binom{ \log_ \sin \int \sum integer no solution all real numbers cm ( ) { } , = ^{9^{9}}"
)
TOKENS = WRITTEN.split()
SPOILED = st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join)


def test_no_text_raises_or_runs_on() -> None:
    pool = AlgebraPool(1, 0.5)

    async def pairs() -> None:
        draw = random.Random(7)
        for _ in range(40):
            texts = [" ".join(draw.choices(TOKENS, k=draw.randint(1, 25))) for _ in range(2)]
            shapes = [parse_shape(normalize(text)) for text in texts]
            found = await pool.compare(shapes[0], shapes[1])
            assert found in {"equal", "different", "unknown", None}, texts
        await pool.aclose()

    asyncio.run(pairs())


@settings(max_examples=300)
@given(SPOILED)
def test_every_text_has_a_shape(text: str) -> None:
    parse_shape(normalize(text))


@pytest.mark.parametrize(
    "part",
    [
        "x=",
        "1,",
        r"\frac{",
        r"\frac\pi",
        r"\sqrt(",
        "(",
        "((x),",
        r"\{x|",
        "a or ",
        r"\text{ and ",
        r"\ne ",
        "k integer, ",
        "no ",
        ".",
    ],
)
def test_a_long_text_is_read_within_seconds_of_the_processor(part: str) -> None:
    started = time.process_time()
    parse_shape(normalize(part * (60_000 // len(part)) + "x"))
    assert time.process_time() - started < 20


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "answer",
    [
        "9" * 1400,
        "x=" + "9" * 1400,
        r"\sqrt{" + "7" * 1300 + "}",
        "10^{10^{10}}",
        "(" * 700 + "x" + ")" * 700,
        "{" * 1400,
    ],
)
async def test_long_numbers_and_deep_nesting_are_never_right(rules: Judge, answer: str) -> None:
    for gold in (r"\sqrt{2}", "7", r"\{1,2\}"):
        assert (await rules.grade(problem(gold), answer)).correct is not True
