import { fileURLToPath } from 'node:url'
import { type Browser, launch } from 'puppeteer-core'
import { bundledProgram, systemProgram } from '../../core/browser/program.ts'

/** Chromium is unpacked once for all runs of the tests. */
export const BROWSER_HOME = fileURLToPath(
  new URL('../../node_modules/.cache/agenthub/browser', import.meta.url),
)

/** A browser for our own pages: the one that comes by npm, else that of the machine. */
export async function openBrowser(): Promise<Browser> {
  const program = (await bundledProgram(BROWSER_HOME)) ?? (await systemProgram())
  return launch({
    executablePath: program.path,
    env: { ...process.env, ...program.env },
    args: ['--no-sandbox', '--disable-dev-shm-usage'], // our own pages; and a CI runs as root
  })
}
