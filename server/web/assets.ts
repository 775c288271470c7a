import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

export interface Asset {
  readonly type: string
  readonly bytes: Buffer
}

const TYPES = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

const assets = new Map<string, Asset>()

/** Keeps a file, at an address that changes with what is in it, so that it may be kept for ever. */
function keep(file: URL): string {
  const name = file.pathname.slice(file.pathname.lastIndexOf('/') + 1)
  const [stem, extension] = name.split('.') as [string, keyof typeof TYPES]
  const bytes = readFileSync(file)
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 12)
  const path = `/assets/${stem}.${hash}.${extension}`
  assets.set(path, { type: TYPES[extension], bytes })
  return path
}

/** Where the files that pages ask for are. */
export const STYLE = keep(new URL('./assets/hub.css', import.meta.url))
export const ICON = keep(new URL('./assets/icon.svg', import.meta.url))
export const COPY_SCRIPT = keep(new URL('./assets/copy.js', import.meta.url))
export const FILE_SCRIPT = keep(new URL('./assets/file.js', import.meta.url))
export const TOPUP_SCRIPT = keep(new URL('./assets/topup.js', import.meta.url))
export const WALLET_SCRIPT = keep(new URL('./assets/wallet.js', import.meta.url))

export const findAsset = (path: string): Asset | undefined => assets.get(path)
