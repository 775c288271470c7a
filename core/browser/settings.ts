import { join, resolve } from 'node:path'

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

export const browserSettings = (e: {
  readonly HUB_BROWSERS: number
  readonly HUB_CHROME_PATH?: string | undefined
  readonly HUB_CHROME_SANDBOX: 'on' | 'off'
  readonly HUB_DATA_DIR: string
}): BrowserSettings => ({
  browsers: e.HUB_BROWSERS,
  path: e.HUB_CHROME_PATH && resolve(e.HUB_CHROME_PATH),
  sandbox: e.HUB_CHROME_SANDBOX === 'on',
  home: resolve(join(e.HUB_DATA_DIR, 'browser')),
})
