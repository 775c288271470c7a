import measured from './data/calibration.json' with { type: 'json' }
import moods from './data/calibration-moods.json' with { type: 'json' }

/** Rising points of a curve: what was claimed, and how often it was right. */
export type Curve = readonly (readonly [number, number])[]

const CURVES = new Map<string, Curve>(
  Object.entries({ ...measured.curves, ...moods.curves } as unknown as Record<string, Curve>),
)
/** What is said of a kind that the development texts do not exercise. */
const UNMEASURED = 0.5

/** The share of right answers of a kind among those with such a margin, read off its curve. */
export const confidenceAt = (kind: string, margin: number): number =>
  readCurve(CURVES.get(kind) ?? [], margin)

/** The value of a curve at a point, on straight lines between its own points. */
const readCurve = (curve: Curve, at: number): number => {
  const next = curve.findIndex(([claimed]) => claimed >= at)
  const [x1, y1] = curve[next < 0 ? curve.length - 1 : next] ?? [0, UNMEASURED]
  const [x0, y0] = curve[Math.max(0, next - 1)] ?? [x1, y1]
  const value = next <= 0 || x1 === x0 ? y1 : y0 + ((y1 - y0) * (at - x0)) / (x1 - x0)
  return Math.round(value * 100) / 100
}
