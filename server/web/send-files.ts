import type { Context } from 'koa'
import { Fault } from '../../core/errors.ts'
import { markPublic } from '../http/finalize-response.ts'
import { findAsset } from './assets.ts'
import type { FileContent } from './page.ts'
import type { SiteFile } from './site-files.ts'

const IMMUTABLE = 'public, max-age=31536000, immutable'

/** Sends a download of a page. */
export function sendFile(ctx: Context, { file, type, text }: FileContent): void {
  ctx.body = Buffer.from(text)
  ctx.type = type
  ctx.attachment(file)
}

export async function sendSiteFile(
  ctx: Context,
  { type, cacheSeconds, read }: SiteFile,
): Promise<void> {
  markPublic(ctx)
  ctx.body = await read()
  ctx.set({ 'Content-Type': type, 'Cache-Control': `public, max-age=${cacheSeconds}` })
}

/** Sends an asset, whose path has its hash. @throws Fault `not_found` */
export function sendAsset(ctx: Context): void {
  const asset = findAsset(ctx.path)
  if (!asset) throw new Fault('not_found')
  ctx.body = asset.bytes
  ctx.set({ 'Content-Type': asset.type, 'Cache-Control': IMMUTABLE })
}
