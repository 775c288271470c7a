import type { Article } from './extract/article.ts'

/** Words above which a page is about missing pages, rather than in place of one. */
const WORDS_MAX = 100
/** Characters; a longer line is no notice. */
const LINE_MAX = 100

const NOTICES: readonly RegExp[] = [
  /^\W*(?:http )?(?:error |status )?404(?: error)?\W*$/,
  /\b404\b.{0,20}\b(?:not found|error)\b/,
  /^\W*(?:error )?404 page\b/,
  /^\W*not found\W*$/,
]
const SUBJECT = /\b(?:page|url|address|article|document)\b/
const IS_MISSING =
  /\b(?:not|can't|cannot|couldn't) (?:be )?found\b|\b(?:doesn't|does not|no longer) exists?\b/
/** The same in other languages of the web. */
const PHRASES: readonly string[] = [
  'seite nicht gefunden',
  'seite wurde nicht gefunden',
  'page non trouvée',
  'page introuvable',
  "page n'existe pas",
  'página no encontrada',
  'página no existe',
  'página não encontrada',
  'página não existe',
  'pagina non trovata',
  'pagina niet gevonden',
  'sidan hittades inte',
  'siden blev ikke fundet',
  'strona nie została znaleziona',
  'nie znaleziono strony',
  'stránka nenalezena',
  'sayfa bulunamadı',
  'страница не найдена',
  'сторінку не знайдено',
  'ページが見つかりません',
  '页面不存在',
  '找不到页面',
  '頁面不存在',
  '페이지를 찾을 수 없습니다',
  'الصفحة غير موجودة',
]

/**
 * Returns true for a short page whose title or first heading says that there is no such page,
 * which many sites send with status 200.
 */
export function isMissingPageNotice({
  title,
  headings,
  word_count: words,
}: Pick<Article, 'title' | 'headings' | 'word_count'>): boolean {
  if (words > WORDS_MAX) return false
  const lines = [title, ...headings.slice(0, 2).map(({ text }) => text)]
  return lines.some((line) => line.length <= LINE_MAX && isNotice(line))
}

function isNotice(line: string): boolean {
  const plain = line.toLowerCase().replaceAll('’', "'")
  return (
    NOTICES.some((notice) => notice.test(plain)) ||
    (SUBJECT.test(plain) && IS_MISSING.test(plain)) ||
    PHRASES.some((phrase) => plain.includes(phrase))
  )
}
