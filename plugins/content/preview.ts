import type { PagePreview, PreviewRequest } from 'agenthub/plugin'
import { type PageDeps, readPage } from './page.ts'

/** Reads a page for its owner, neither from the cache nor into it. @throws as `readPage` */
export async function previewPage(
  deps: PageDeps,
  { domain, page, signal }: PreviewRequest,
): Promise<PagePreview> {
  const request = { domain, page, signal, payer: domain.provider, paid: false }
  const { article, way, directives } = await readPage(deps, request)
  return { article: { ...article }, readBy: way, directives }
}
