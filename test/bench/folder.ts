import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A new data directory. Its database lies in it, and goes with it, whoever has to run that. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-bench-'))
  chmodSync(folder, 0o711)
  return folder
}
