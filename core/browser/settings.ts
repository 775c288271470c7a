import { join, resolve } from 'node:path'
import type { Environment } from '../environment.ts'

/** How browsers are started. */
export interface BrowserSettings {
  /** Browsers at a time; 0: no page is rendered. */
  readonly browsers: number
  /** A Chrome or Chromium of the operator's choice. */
  readonly path: string | undefined
  /** False: pages run without Chromium's sandbox, where the machine forbids it. */
  readonly sandbox: boolean
  /** The Chromium that comes by npm is unpacked here, and profiles lie here. */
  readonly home: string
}

export const browserSettings = (e: Environment): BrowserSettings => ({
  browsers: e.HUB_BROWSERS,
  path: e.HUB_CHROME_PATH && resolve(e.HUB_CHROME_PATH),
  sandbox: e.HUB_CHROME_SANDBOX === 'on',
  home: resolve(join(e.HUB_DATA_DIR, 'browser')),
})
