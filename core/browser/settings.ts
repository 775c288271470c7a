import { join, resolve } from 'node:path'
import type { Environment } from '../config/environment.ts'

/** Settings of browsers. */
export interface BrowserSettings {
  /** Maximum number of browsers; 0 disables rendering. */
  readonly browsers: number
  /** Path of Chrome or Chromium, if the operator has set it. */
  readonly path: string | undefined
  /** False to run without Chromium's sandbox, if the machine does not support it. */
  readonly sandbox: boolean
  /** Folder of the unpacked Chromium and of profiles. */
  readonly home: string
}

export const browserSettings = (e: Environment): BrowserSettings => ({
  browsers: e.HUB_BROWSERS,
  path: e.HUB_CHROME_PATH && resolve(e.HUB_CHROME_PATH),
  sandbox: e.HUB_CHROME_SANDBOX === 'on',
  home: resolve(join(e.HUB_DATA_DIR, 'browser')),
})
