import { percent } from './score.ts'

/** One measurement: our result and those of the libraries in the same run, in percent. */
export interface Row {
  readonly name: string
  readonly ours: number
  readonly peers: Readonly<Record<string, number>>
  readonly texts: number
  /** Expected calibration error of our confidences, in percentage points. */
  readonly error?: number
  /** Note on how training data was kept out of the evaluation. */
  readonly note: string
}

export const SHIPPED = 'shipped model'
export const TWIN = 'twin that has not read it'
export const FOLDS = 'five folds'

/** Returns the share of texts whose sentiment has the sign of the label. */
export const signAccuracy = (
  texts: readonly { readonly text: string; readonly label: string }[],
  mood: (text: string) => number,
): number =>
  percent(
    texts.filter(({ text, label }) => mood(text) > 0 === (label === 'positive')).length /
      texts.length,
  )
