import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, launch } from 'puppeteer-core'
import { bundledProgram, systemProgram } from '../../core/browser/program.ts'

/** A browser for our own pages: that of the machine, else the one that comes by npm. */
export async function openBrowser(): Promise<Browser> {
  const bundled = () => bundledProgram(join(tmpdir(), 'agenthub-test-browser'))
  const program = await systemProgram().catch(bundled)
  if (!program) throw new Error('There is no browser here: install Chrome or Chromium.')
  return launch({
    executablePath: program.path,
    env: { ...process.env, ...program.env },
    args: ['--no-sandbox', '--disable-dev-shm-usage'], // our own pages; and a CI runs as root
  })
}
