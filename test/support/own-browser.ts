import { type Browser, launch } from 'puppeteer-core'
import { bundledProgram, systemProgram } from '../../core/browser/program.ts'
import { BROWSER_HOME } from './browser.ts'

/** A browser for our own pages: the one that comes by npm, else that of the machine. */
export async function openBrowser(): Promise<Browser> {
  const program = (await bundledProgram(BROWSER_HOME)) ?? (await systemProgram())
  return launch({
    executablePath: program.path,
    env: { ...process.env, ...program.env },
    args: ['--no-sandbox', '--disable-dev-shm-usage'], // our own pages; and a CI runs as root
  })
}
