import { fileURLToPath } from 'node:url'
import { type Browser, launch } from 'puppeteer-core'
import { bundledProgram, systemProgram } from '../../core/browser/program.ts'

/** Cache folder for the unpacked Chromium, shared by all test runs. */
export const BROWSER_HOME = fileURLToPath(
  new URL('../../node_modules/.cache/agenthub/browser', import.meta.url),
)

/** Launches Chromium for first-party pages: the npm package's or the system's. */
export async function openBrowser(): Promise<Browser> {
  const program = (await bundledProgram(BROWSER_HOME)) ?? (await systemProgram())
  return launch({
    executablePath: program.path,
    env: { ...process.env, ...program.env },
    args: ['--no-sandbox', '--disable-dev-shm-usage'], // first-party pages only; CI runs as root
  })
}
