"""Lists, points, sets, named values, equations and the like: what is equal, what is not, what stays open."""

import pytest
from answer_tables import table_rows, verdicts_on

from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem

PAIRS = {
    "sets in other dress": r"""
x \ne 1 => all real numbers except 1 | Every real x other than 1. !> all real numbers except -1
m > 4 => 4 < m !> m < 4 ?> n > 4
\{2\} => 2 | {2} !> 3
k\pi, k \in \mathbb{Z} => \{k\pi : k \in \mathbb{Z}\} | \{n\pi \mid n \in \mathbb{Z}\} !> \{2k\pi : k \in \mathbb{Z}\}
\langle 3, -2, 1 \rangle => (3, -2, 1) !> \langle 3, 2, 1 \rangle
""",
    "named values": r"""
length=5, width=3 => width = 3, length = 5 !> length = 3, width = 5
\text{apples}=3, \text{pears}=5 => apples=3, pears=5
apples=3, pears=5 !> apples=5, pears=3
AB=5, BC=6 => BC=6, AB=5 !> AB=6, BC=5
x=2, y=3 => X=2, Y=3 | $x = 2$ and $y = 3$ | x = 2; y = 3 | The solution is x = 2, y = 3.
x=2, y=3 => **x = 2, y = 3** | \boxed{x = 2, y = 3} | \boxed{(2, 3)} | \boxed{x=2 \text{ and } y=3}
x=2, y=3 => x=2,y=3 | y=3, x=2 | \begin{cases}x=2\\y=3\end{cases} | (y,x)=(3,2) !> (y,x)=(2,3) | x=2
x=2, y=3 !> x=2, y=3, z=4 | x=3, y=3
(1, 2), (3, 4) => (x, y) = (3, 4), (1, 2) | x=1,y=2; x=3,y=4 !> x=2,y=1 or x=3,y=4
f(x)=2x, g(x)=x^2 => g(x)=x^2, f(x)=2x !> f(x)=x^2, g(x)=2x
(2,3) => \boxed{x=2,\quad y=3} | x=2 \text{ and } y=3 !> x=3, y=2 | y=2, x=3
m=4, n=7 => n = 7, m = 4 !> m = 7, n = 4
x=2 \text{ and } y=3 !> (x, y) = (3, 2)
A=1, B=-1 => A = 1 and B = -1 !> A = -1 and B = 1
x=-2, y=5 !> (x,y) = (5,-2)
(1,2,3) => x=1, y=2, z=3 !> x=1, y=3, z=2
x=1, y=2, z=3 => (x,y,z)=(1,2,3)
x=1,y=2 => (1, 2) !> (2, 1)
x=\sqrt{2}, y=1 !> x=1, y=\sqrt{2}
p = 2, q = 3 => q=3, p=2
\alpha=1, \beta=2 !> \alpha=2,\beta=1
x=4, y=4 => x = y = 4
(x,y)=(2,3) => (2,3) !> (3,2)
(a,b)=(1,2) !> a=2,b=1
r=2, \theta=\frac{\pi}{3} => \theta = \pi/3, r = 2
x=\frac12, y=3 => x=0.5, y=3
x_1=2, x_2=3 => 2, 3
2, 3 => x_1=3, x_2=2
x=2, x=3 => x=3 or x=2
x=2,y=3 or x=3,y=2 => (2,3), (3,2)
x=2, y=3 ?> x=2 or y=3
(2,3), (3,2) => (x,y)=(3,2) or (x,y)=(2,3)
a=1, b=2 !> a=1, c=2
""",
    "equations": r"""
y=2x+1 => y-3=2(x-1) | y=2*x+1 | y=1+2x | y-2x=1 | 4x-2y+2=0 | x=\frac{y-1}{2} | f(x)=2x+1 !> y=2x-1
y=2x+1 !> 2x-y-1=0
3x+2y=6 => \frac{x}{2}+\frac{y}{3}=1
y=-x+4 => x+y=4 !> x+y=-4 | x-y=4
2x-3y+7=0 => 3y=2x+7 | -2x+3y-7=0 | y=\frac23x+\frac73
y=\frac{2}{3}x-5 => 2x-3y=15 | 2x-3y-15=0 !> 2x+3y=15
x-2y+3z=4 => z=\frac{4-x+2y}{3} | -x+2y-3z+4=0
x^2+y^2=25 => y^2=25-x^2 !> x^2+y^2=5
\frac{x^2}{4}+\frac{y^2}{9}=1 => 9x^2+4y^2=36 !> 4x^2+9y^2=36
y = 2x + 1 !> f(x) = 2x+2
2x+4y-3=0 => x+2y=\frac32 !> x+2y=3 | y = 2x+4
x+2y+3z=6 => z=2-\frac{x}{3}-\frac{2y}{3} | 2x+4y+6z=12 !> x+2y+3z=7
x^2+y^2=4 => x^2+y^2-4=0 !> x^2+y^2=2
y = \frac{1}{x} => xy=1
y=x^2 !> y=x^3
(x-1)^2+(y+2)^2=9 => x^2+y^2-2x+4y-4=0
x=3 => 3
""",
    "matrices": r"""
\begin{pmatrix}1&0\\0&1\end{pmatrix} => \begin{bmatrix} 1 & 0 \\ 0 & 1 \end{bmatrix}
\begin{pmatrix}1&0\\0&1\end{pmatrix} !> \begin{pmatrix}0&1\\1&0\end{pmatrix}
\begin{pmatrix}1\\2\end{pmatrix} => \left(\begin{array}{c}1\\2\end{array}\right)
\begin{pmatrix}1\\2\end{pmatrix} !> \begin{pmatrix}1&2\end{pmatrix} ?> (1,2) | (1,3)
\begin{pmatrix}1/2&0\\0&1\end{pmatrix} => \left[\begin{array}{cc}0.5&0\\0&1\end{array}\right]
\begin{pmatrix}1&2\\3&4\end{pmatrix} => \left(\begin{array}{rr}1&2\\3&4\end{array}\right) | [[1,2],[3,4]]
\begin{pmatrix}1&2\\3&4\end{pmatrix} !> \left[\begin{array}{cc}1&2\\4&3\end{array}\right]
\begin{pmatrix}1&2\\3&4\end{pmatrix} !> \begin{pmatrix}1&3\\2&4\end{pmatrix}
\begin{pmatrix}1&2\\3&4\end{pmatrix} !> \begin{bmatrix}1&2\\3&5\end{bmatrix}
\begin{bmatrix}1&2\\3&4\end{bmatrix} => \begin{pmatrix}1&2\\3&4\end{pmatrix}
""",
    "values for each integer": r"""
\frac{\pi}{4}+k\pi => \frac{\pi}{4}+k\pi, \quad k\in\mathbb{Z}
\frac{\pi}{4}+k\pi => \frac{\pi}{4}+\pi k \text{ for } k \in \mathbb{Z}
\frac{\pi}{4}+k\pi => \frac{\pi}{4}+\pi k, where k is an integer !> \frac{\pi}{4}+2\pi k, k\in\mathbb{Z}
\frac{\pi}{4}+k\pi !> \frac{\pi}{3}+\pi k, k\in\mathbb{Z}
x=k\pi, k\in\mathbb{Z} => x = \pi n, n \in \mathbb{Z}
2k+1, k \in \mathbb{Z} => 2k-1, k \in \mathbb{Z} !> 2k, k \in \mathbb{Z}
\frac{\pi}{6}+2k\pi => \frac{\pi}{6}+2n\pi, n \in \mathbb{Z}
\frac{\pi}{6}+2k\pi, k \in \mathbb{Z} => \frac{\pi}{6}-2\pi k, k\in \mathbb Z | \frac{13\pi}{6}+2\pi k
\frac{\pi}{6}+2k\pi, k \in \mathbb{Z} !> \frac{\pi}{6}+k\pi, k\in \mathbb Z
\frac{\pi}{6}+2k\pi, k \in \mathbb{Z} !> \frac{\pi}{3}+2k\pi, k\in \mathbb Z
x = \frac{\pi}{4} + k\pi => x = \frac{\pi}{4}+n\pi \text{ for any integer } n
\frac{\pi}{6}+2k\pi, \frac{5\pi}{6}+2k\pi, k \in \mathbb{Z} => \frac{5\pi}{6}+2\pi n, \frac{\pi}{6}+2\pi n, \text{ where } n \text{ is an integer}
""",
    "sequences": r"""
2, 4, 6, \ldots, 2n => 2, 4, 6, 8, \ldots, 2n | 2, 4, \dots, 2n
a_1, a_2, \ldots, a_n ?> a_1, a_2, a_3, \ldots, a_n
1, 2, \ldots, n => 1, 2, 3, ..., n | 1, 2, 3, 4, \dots, n
1,2,\ldots,n => 1,2,\ldots,n-1,n !> 0,1,2,\ldots,n | 1,2,\ldots,2n | 1,2,\ldots,n-1 | 2,3,\ldots,n
1, 3, 5, \ldots => 1, 3, 5, 7, \cdots !> 1, 3, 6, \ldots
1,2,3,\ldots !> 1,2,3
2,4,8,\ldots => 2,4,8,16,\ldots
1,2,\ldots ?> 1,2,4,8,\ldots
\{1,2,\ldots,10\} => \{1,2,3,\ldots,10\}
1, 2, 3, \ldots, 10 => 1, 2, 3, ..., 10
""",
    "sets": r"""
2\pi !> x > 2\pi
x > 2\pi !> 2\pi
\{1,2,3\} => 1, 2, 3 | {3, 2, 1} | \left\{1,2,3\right\} | x \in \{1,2,3\}
[-1,1] => x ∈ [-1, 1] | \{x \mid -1 \le x \le 1\} | -1 \le x \le 1 !> |x| < 1 | -1 < x < 1
\varnothing => ∅ | There is no solution. | no real solutions !> \{0\} | 0
\text{no solution} => There are no solutions. | \varnothing !> x=2
(-\infty,-2)\cup(-2,\infty) => x ≠ -2 | \{x \in \mathbb{R} \mid x \neq -2\} | x < -2 \text{ or } x > -2
(-\infty,-2)\cup(-2,\infty) !> x \ne 2 | \mathbb{R}
\mathbb{R} => x is any real number | all reals | the set of all real numbers | ℝ | x \in \mathbb{R}
\mathbb{R} => (-\infty,\infty)
all real numbers => every real number | \mathbb{R} !> [0,\infty)
(-\infty,\infty) ?> all positive real numbers
(0,\infty) => x>0 !> x \ge 0
[2,\infty) => x \geq 2
(-\infty,2]\cup[5,\infty) => x \le 2 or x \ge 5 | x \le 2, x \ge 5 !> 2 \le x \le 5
(2,5) => x>2 and x<5
\{0\}\cup[1,2] => x=0 or 1 \le x \le 2
[0,4] => 0\leq x\leq 4 | |x-2|\le 2
(-3,3) => x^2<9
(-\infty,-3)\cup(3,\infty) => x^2>9
\mathbb{R}\setminus\{0\} => x \neq 0 | (-\infty,0)\cup(0,\infty)
\mathbb{R}\setminus\{-1,1\} => x\neq\pm1
\mathbb{R}\setminus[0,1] => x<0 or x>1
\{-2,2\} => x=\pm 2 | \pm 2
\{1\}\cup\{2\}\cup\{3\} => {1,2,3}
\{1,2\}\cap\{2,3\} => \{2\}
\{1,2\}\cup\{2,3\} => \{1,2,3\}
\{1,2\}\cup\{3\} !> \{1,2,4\}
(-\infty,1)\cup(1,\infty) => \mathbb{R}\setminus\{1\} !> x \ne 2
(-\infty,1)\cup(1,3)\cup(3,\infty) => x \neq 1, 3 | x \neq 1 \text{ and } x\ne 3
(-\infty,-1)\cup(1,\infty) => |x|>1 !> |x|\ge 1
[1,5] => |x-3| \le 2
(1,5) !> |x-3| \le 2
[0,1)\cup[1,2] => [0,2]
(0,2) !> (0,1)\cup(1,2)
x>3 => (3,\infty) | 3<x !> x \ge 3
2x+3>9 => x>3
x^2<4 => -2<x<2
(-\infty,-\sqrt{2})\cup(\sqrt{2},\infty) => x^2>2
(1, \sqrt{3+2\sqrt{2}}] => 1 < x \le 1+\sqrt 2
x+y>3 => y>3-x !> x+y\ge 3 | x+y<3
x>1, x<3 => (1,3)
x<1 or x>3 => (-\infty,1)\cup(3,\infty) !> (1,3)
\{x \mid x > 2\} => (2,\infty)
\mathbb{R}\setminus\{1,2\} => \mathbb{R}\setminus\{2,1\} !> \mathbb{R}\setminus\{1,3\}
\mathbb{Z} ?> \mathbb{Q}
(a, a+1) => a<x<1+a
\mathbb{R}\setminus\{-2\} => \mathbb{R} - \{-2\}
\mathbb{R}\setminus\{\pm 1\} => x \ne \pm 1
(-\infty,-1)\cup(-1,1)\cup(1,\infty) => x \ne \pm 1
"""
    "[-1,1] => \u22121 ≤ x ≤ 1",
    "functions": r"""
12\pi => Area = 12\pi !> area=13\pi
\{(1,2),(2,1)\} => (x,y)\in\{(2,1),(1,2)\}
x=2\sqrt{3} ?> AB = 2\sqrt{3}
\sin x=\frac12 ?> x
y=x^2 ?> y=x^2, x>0
\frac{1}{x}, x \ne 0 ?> \frac{1}{x}
x^2+1 => f(x)=x^2+1
f(x)=x^2+1 !> f(x)=x^2+2
e^{-2x} => \exp(-2x) | \exp{(-2x)}
e^{3} => exp(3)
2e^{x} => 2\exp x
\ln 2 => \log_e 2
\arctan x => \tan^{-1} x
\frac{1}{x} => x^{-1}
\sqrt{x} => x^{1/2}
e^{-x} => exp(-x) !> \exp(x)
e^{x^2/2} => \exp\left(\frac{x^2}{2}\right)
3e^{2} => 3\exp(2)
\sqrt[3]{x} => x^{1/3}
x^{1/3} => \sqrt[3]{x}
\frac{n(n-1)}{2} => \binom{n}{2}
\cos x => \frac{1}{\sec x}
\frac{\sqrt{3}}{2} ?> \sin 60^\circ
\frac{1}{\cos x} => \sec x
\frac{x}{2} => 1/2 x ?> 1/2x
\frac{1}{2x} !> 1/3x
\frac\pi2 => \frac{\pi}{2}
2\pi+\frac{\sqrt6}2 => \frac{\sqrt{6}}{2}+2\pi
""",
    "divided by zero": r"""
\frac{0}{0} ?> 0
1/0 ?> 2/0
\frac{x}{0} ?> \frac{2x}{0}
\infty ?> \frac{1}{0}
x+1 ?> x+\frac{0}{0}
""",
    "units": r"""
12\pi\text{ cm}^2 => 12\pi \text{ cm}^2 | 12\pi cm^2 | 12\pi square centimeters | 12\pi
12\pi\text{ cm}^2 !> 12\pi\text{ cm}^3 | 13\pi\text{ cm}^2
12\pi\text{ cm} ?> 12\pi\text{ m}
\sqrt{3}\text{ km/h} => \sqrt{3} \text{ km}/\text{h} !> \sqrt{3}\text{ km}
\sqrt{3}\text{ miles per hour} => \sqrt{3}\text{ miles/hour}
9\pi\text{ square feet} !> 9\pi\text{ feet}
9\pi\text{ cubic inches} => 9\pi\text{ inches}^3 !> 9\pi\text{ square inches}
2\pi xy => 2\pi yx
9\pi\text{ square units} !> 9\pi\text{ units}
""",
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
    rows = table_rows(PAIRS[kind])
    assert await verdicts_on(rules, rows, problem) == rows


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("question", "gold", "answer", "correct"), OF_POSITIVE)
async def test_the_question_says_what_is_positive(
    rules: Judge, question: str, gold: str, answer: str, correct: bool | None
) -> None:
    assert (await rules.grade(problem(gold, question), answer)).correct is correct
