import { join, resolve } from 'node:path'

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
