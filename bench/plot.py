"""A plot of points with a line through them, as SVG."""

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 560, 320, 70, 50, 20, 20


def ticks(most):
    """About five round numbers from 0 to at least `most`."""
    step = 10.0 ** max(0, len(str(int(most))) - 1)
    while most / step < 4:
        step /= 2
    count = int(most / step) + (most % step > 0)
    return [step * at for at in range(count + 1)]


def write(path, points, x_title, y_title):
    """Points are pairs; both axes begin at 0."""
    xs, ys = ticks(max(x for x, _ in points)), ticks(max(y for _, y in points))

    def place(x, y):
        return (LEFT + x / xs[-1] * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y / ys[-1] * (HEIGHT - BOTTOM - TOP))

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for y in ys:
        left, height = place(0, y)
        lines.append(f'<path d="M{left:.1f} {height:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        lines.append(f'<text x="{left - 6:.1f}" y="{height + 4:.1f}" text-anchor="end">{y:g}</text>')
    for x in xs:
        at, bottom = place(x, 0)
        lines.append(f'<text x="{at:.1f}" y="{bottom + 18:.1f}" text-anchor="middle">{x:g}</text>')
    spots = [place(x, y) for x, y in points]
    lines.append(f'<polyline fill="none" stroke="#1f6fb4" stroke-width="2" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in spots)}"/>')
    lines += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#1f6fb4"/>' for x, y in spots]
    lines.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 10}" text-anchor="middle">{x_title}</text>')
    lines.append(f'<text transform="translate(16 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">{y_title}</text>')
    with open(path, "w") as out:
        out.write("\n".join(lines) + "\n</svg>\n")
