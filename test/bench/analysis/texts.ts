import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import seen from '../../../plugins/analysis/data/seen.json' with { type: 'json' }

export type Gold = readonly [start: number, end: number, type: string]

/** One labelled text of any task. */
export interface Labelled {
  readonly text: string
  readonly label: string
  readonly intent?: string
  readonly entities: readonly Gold[]
  readonly aspects: readonly Gold[]
}

/** A file of labelled texts; its prefix tells the task. */
export interface Corpus {
  readonly name: string
  readonly texts: readonly Labelled[]
  /** Whether the shipped models have learnt from it, and so cannot be judged by it. */
  readonly isSeen: boolean
}

export type Task = 'ner' | 'sent' | 'absa' | 'cls'

const SEEN = new Set(seen.files.map(({ sha256 }) => sha256))

/** The corpora of one task in a folder, by name. */
export const corporaIn = (folder: string, task: Task): Corpus[] =>
  readdirSync(folder)
    .filter((file) => file.startsWith(`${task}_`) && file.endsWith('.jsonl'))
    .sort()
    .map((file) => {
      const bytes = readFileSync(join(folder, file))
      const lines = bytes.toString('utf8').trim().split('\n')
      return {
        name: file.slice(task.length + 1, -'.jsonl'.length),
        texts: lines.map((line) => JSON.parse(line) as Labelled),
        isSeen: SEEN.has(createHash('sha256').update(bytes).digest('hex')),
      }
    })
