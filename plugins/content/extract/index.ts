/** Extracts articles from web pages, PDFs and other documents. */
export {
  type Article,
  ExtractionError,
  type ExtractOptions,
} from './article.ts'
export { read } from './pool.ts'
