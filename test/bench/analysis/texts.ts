import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import seen from '../../../plugins/analysis/data/seen.json' with { type: 'json' }

export type Gold = readonly [start: number, end: number, type: string]

/** Labeled text of any task. */
export interface LabeledText {
  readonly text: string
  readonly label: string
  readonly intent?: string
  readonly entities: readonly Gold[]
  readonly aspects: readonly Gold[]
}

/** File of labeled texts; its prefix selects the task. */
export interface Corpus {
  readonly name: string
  readonly texts: readonly LabeledText[]
  /** True if the shipped models were trained on it and so cannot be evaluated with it. */
  readonly isTrainingData: boolean
}

export type Task = 'ner' | 'sent' | 'absa' | 'cls'

const TRAINING_DATA = new Set(seen.files.map(({ sha256 }) => sha256))

/** Returns the corpora of one task in a folder, by name. */
export const corporaIn = (folder: string, task: Task): Corpus[] =>
  readdirSync(folder)
    .filter((file) => file.startsWith(`${task}_`) && file.endsWith('.jsonl'))
    .sort()
    .map((file) => {
      const bytes = readFileSync(join(folder, file))
      const lines = bytes.toString('utf8').trim().split('\n')
      return {
        name: file.slice(task.length + 1, -'.jsonl'.length),
        texts: lines.map((line) => JSON.parse(line) as LabeledText),
        isTrainingData: TRAINING_DATA.has(createHash('sha256').update(bytes).digest('hex')),
      }
    })
