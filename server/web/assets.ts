import { hash } from 'node:crypto'
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

/** Registers a file under a path with a hash of its content, so that it can be cached forever. */
function registerAsset(file: URL): string {
  const name = file.pathname.slice(file.pathname.lastIndexOf('/') + 1)
  const [stem, extension] = name.split('.') as [string, keyof typeof TYPES]
  const bytes = extension === 'js' ? linkModules(readFileSync(file, 'utf8')) : readFileSync(file)
  const version = hash('sha256', bytes, 'base64url').slice(0, 12)
  const path = `/assets/${stem}.${version}.${extension}`
  assets.set(path, { type: TYPES[extension], bytes })
  return path
}

/** Replaces the imports of a script by the hashed paths of its modules, registered before it. */
const linkModules = (script: string): Buffer =>
  Buffer.from(
    script.replaceAll(/ from '\.\/(\w{1,40})\.js'/g, (_, stem: string) => {
      const path = assets.keys().find((each) => each.startsWith(`/assets/${stem}.`))
      if (path === undefined) throw new Error(`the module ${stem} is not registered`)
      return ` from '${path}'`
    }),
  )

registerAsset(new URL('./assets/wallets.js', import.meta.url))
/** Paths of the files that pages load. */
export const STYLESHEET = registerAsset(new URL('./assets/hub.css', import.meta.url))
export const ICON = registerAsset(new URL('./assets/icon.svg', import.meta.url))
export const COPY_SCRIPT = registerAsset(new URL('./assets/copy.js', import.meta.url))
export const FILE_SCRIPT = registerAsset(new URL('./assets/file.js', import.meta.url))
export const PALETTE_SCRIPT = registerAsset(new URL('./assets/palette.js', import.meta.url))
export const REFRESH_SCRIPT = registerAsset(new URL('./assets/refresh.js', import.meta.url))
export const TOPUP_SCRIPT = registerAsset(new URL('./assets/topup.js', import.meta.url))
export const WALLET_SCRIPT = registerAsset(new URL('./assets/wallet.js', import.meta.url))

export const findAsset = (path: string): Asset | undefined => assets.get(path)
