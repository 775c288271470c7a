import measured from './data/calibration.json' with { type: 'json' }
import moods from './data/calibration-moods.json' with { type: 'json' }

/** Points of a rising curve: the claimed score and the measured share of correct results. */
export type Curve = readonly (readonly [number, number])[]

const CURVES = new Map<string, Curve>(
  Object.entries({ ...measured.curves, ...moods.curves } as unknown as Record<string, Curve>),
)
/** Used for kinds that do not occur in the development texts. */
const DEFAULT_CONFIDENCE = 0.5

/** Measured share of correct results of a kind at this score. */
export const confidenceAt = (kind: string, margin: number): number =>
  readCurve(CURVES.get(kind) ?? [], margin)

/** Interpolates a curve linearly. */
const readCurve = (curve: Curve, at: number): number => {
  const next = curve.findIndex(([claimed]) => claimed >= at)
  const [x1, y1] = curve[next < 0 ? curve.length - 1 : next] ?? [0, DEFAULT_CONFIDENCE]
  const [x0, y0] = curve[Math.max(0, next - 1)] ?? [x1, y1]
  const value = next <= 0 || x1 === x0 ? y1 : y0 + ((y1 - y0) * (at - x0)) / (x1 - x0)
  return Math.round(value * 100) / 100
}
