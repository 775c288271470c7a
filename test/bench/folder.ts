import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Creates a data directory. Other users may traverse it, because root runs PostgreSQL as another
 * user.
 */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'agenthub-bench-'))
  chmodSync(folder, 0o711)
  return folder
}
