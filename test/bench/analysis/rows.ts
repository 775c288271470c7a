import { percent } from './score.ts'

/** One measurement: ours, and what libraries reach in the same run, all in percent. */
export interface Row {
  readonly name: string
  readonly ours: number
  readonly peers: Readonly<Record<string, number>>
  readonly texts: number
  /** Expected calibration error of our confidences, in points. */
  readonly error?: number
  /** How it was made sure that nothing was judged by what had learnt from it. */
  readonly note: string
}

export const SHIPPED = 'shipped model'
export const TWIN = 'twin that has not read it'
export const FOLDS = 'five folds'

/** The share of texts for which a mood has the sign of the label. */
export const signAccuracy = (
  texts: readonly { readonly text: string; readonly label: string }[],
  mood: (text: string) => number,
): number =>
  percent(
    texts.filter(({ text, label }) => mood(text) > 0 === (label === 'positive')).length /
      texts.length,
  )
