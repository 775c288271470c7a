/** Pages of the test site: the content sent and the words extracted from it. */
export interface Page {
  readonly type: string
  readonly body: string | Buffer
  /** Delay of the response, in milliseconds. */
  readonly delayMs?: number
}

export interface Story {
  readonly path: string
  readonly about: string
  /** Expected words in reading order. */
  readonly words: readonly string[]
  /** Words that must not be extracted. */
  readonly without?: readonly string[]
}

const HTML = 'text/html; charset=utf-8'
const html = (body: string, head = '', lang = 'en'): Page => ({
  type: HTML,
  body: `<!doctype html><html lang="${lang}"><head><title>Page</title>${head}</head>
    <body>${body}</body></html>`,
})

const HARBOUR = [
  'The harbour of the old town was dredged for the first time in forty years, and the work brought',
  'up more than mud. Divers found the ribs of two merchant ships that had gone down in a storm,',
  'their cargo of roof tiles still stacked as it had been when they left the kiln.',
].join(' ')
const TILES = [
  'The tiles will be cleaned during the winter and shown in the town hall from March. Whoever has',
  'a house of that age may ask for them: the council wants to see them on a roof again, where they',
  'belong, and not in a museum.',
].join(' ')
const DIVERS = [
  'The divers are not paid for their finds. They were hired to look for old cables, and say that',
  'they would have done it for nothing.',
].join(' ')
const article = (...texts: readonly string[]): string =>
  `<main><article><h1>Ships below the quay</h1>${texts.map((text) => `<p>${text}</p>`).join('')}
  </article></main>`

const ARABIC = [
  'افتتحت المدينة مكتبة جديدة قرب النهر بعد ثلاث سنوات من البناء، وحضر الافتتاح مئات من السكان.',
  'تضم المكتبة قاعات للقراءة وورشة لترميم الكتب القديمة، وتفتح أبوابها كل يوم حتى المساء.',
]
const JAPANESE = [
  '港の古い倉庫が図書館に生まれ変わり、土曜日に最初の来館者を迎えた。改修には三年かかった。',
  '館内には子どものための部屋と、海を見渡せる静かな閲覧室がある。入館は無料である。',
]
const RUSSIAN = [
  'В старом порту открыли библиотеку: здание бывшего склада восстанавливали три года.',
  'В читальном зале помещается двести человек, и вход для всех жителей города бесплатный.',
]

/** Encodes windows-1251 letters; ASCII is unchanged. */
const windows1251 = (text: string): Buffer =>
  Buffer.from(
    Array.from(text, (letter) => {
      const code = letter.codePointAt(0)!
      return code >= 0x410 && code <= 0x44f ? code - 0x350 : code
    }),
  )

const BUILT = `<div id="root">Loading…</div><script>
  setTimeout(async () => {
    const texts = await (await fetch('/api/texts')).json()
    const page = texts.map((text) => '<p>' + text + '</p>').join('')
    root.innerHTML = '<main><article><h1>Ships below the quay</h1>' + page + '</article></main>'
  }, 100)
</script>`

const WALL = `<div id="cookie-consent" class="cookie-banner overlay" role="dialog"
    style="position:fixed;inset:0;z-index:9999;background:#fff">
    <h2>We value your privacy</h2>
    <p>We and our 842 partners store cookies on your device. You can accept all of them.</p>
    <button>Accept all</button><button>Reject all</button></div>`

const SCROLL = `<main><article><h1>Ships below the quay</h1><div id="list"></div></article></main>
  <div id="end" style="height:20px"></div><script>
  let batch = 0, busy = false
  new IntersectionObserver(async ([end]) => {
    if (!end.isIntersecting || busy || batch === 4) return
    busy = true
    await new Promise((resolve) => setTimeout(resolve, 100)) // as many pages do
    const text = await (await fetch('/api/batch/' + batch++)).text()
    list.insertAdjacentHTML('beforeend', '<p style="min-height:1500px">' + text + '</p>')
    busy = false
  }, { rootMargin: '300px' }).observe(end)
</script>`

const SHADOW = `<main><article><h1>Ships below the quay</h1><x-story><p slot="lead">${HARBOUR}</p>
  <p>${DIVERS}</p></x-story></article></main><script>
  customElements.define('x-story', class extends HTMLElement {
    constructor() {
      super()
      this.attachShadow({ mode: 'open' }).innerHTML =
        '<style>p{color:red}</style><slot name="lead"></slot><p>${TILES}</p><slot></slot>'
    }
  })
</script>`

const FRAMES = `${article(HARBOUR).replace(
  '</article>',
  '<iframe src="/frame"></iframe></article>',
)}<iframe src="http://stranger.test/frame"></iframe>`

/** Returns a minimal PDF with one page of text. */
function pdf(lines: readonly string[]): Buffer {
  const text = lines.map((line) => `(${line}) Tj T*`).join('\n')
  const content = `BT /F1 11 Tf 14 TL 72 720 Td\n${text}\nET`
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R ' +
      '/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
  ]
  let file = '%PDF-1.4\n'
  const offsets = objects.map((object, index) => {
    const offset = file.length
    file += `${index + 1} 0 obj\n${object}\nendobj\n`
    return offset
  })
  const entries = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`)
  const count = objects.length + 1
  return Buffer.from(
    `${file}xref\n0 ${count}\n0000000000 65535 f \n${entries.join('')}` +
      `trailer << /Size ${count} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`,
  )
}

const PDF_LINES = ['Ships below the quay', 'The harbour was dredged for the first time.']

export const PAGES: Readonly<Record<string, Page>> = {
  '/plain': html(article(HARBOUR, TILES)),
  '/built': html(BUILT),
  '/api/texts': { type: 'application/json', body: JSON.stringify([HARBOUR, TILES]), delayMs: 500 },
  '/consent': html(article(HARBOUR, TILES) + WALL),
  '/scroll': html(SCROLL),
  '/api/batch/0': { type: 'text/plain', body: HARBOUR },
  '/api/batch/1': { type: 'text/plain', body: TILES, delayMs: 100 },
  '/api/batch/2': { type: 'text/plain', body: DIVERS },
  '/api/batch/3': { type: 'text/plain', body: 'This is how the long story of the harbour ends.' },
  '/shadow': html(SHADOW),
  '/frames': html(FRAMES),
  '/frame': html(`<p>${TILES}</p>`),
  '/arabic': html(article(...ARABIC), '', 'ar" dir="rtl'),
  '/japanese': html(article(...JAPANESE), '', 'ja'),
  '/cyrillic-header': {
    type: 'text/html; charset=windows-1251',
    body: windows1251(`<!doctype html><title>x</title>${article(...RUSSIAN)}`),
  },
  '/cyrillic-meta': {
    type: 'text/html',
    body: windows1251(
      `<!doctype html><meta charset="windows-1251"><title>x</title>${article(...RUSSIAN)}`,
    ),
  },
  '/late': html(`<div id="root"></div><script>
    const story = '<article id="story">${TILES}</article>'
    setTimeout(() => { root.innerHTML = story }, 4000)</script>`),
  '/paper.pdf': { type: 'application/pdf', body: pdf(PDF_LINES) },
  '/notes.txt': { type: 'text/plain; charset=utf-8', body: `${HARBOUR}\n\n${TILES}` },
  '/data.json': { type: 'application/json', body: JSON.stringify({ story: HARBOUR }) },
}

export const STORIES: readonly Story[] = [
  { path: '/plain', about: 'a plain page', words: [HARBOUR, TILES] },
  {
    path: '/built',
    about: 'built by a script from what it fetches',
    words: [HARBOUR, TILES],
    without: ['Loading'],
  },
  {
    path: '/consent',
    about: 'behind a wall of consent',
    words: [HARBOUR, TILES],
    without: ['842 partners', 'Accept all'],
  },
  {
    path: '/scroll',
    about: 'that goes on as it is scrolled',
    words: [HARBOUR, TILES, DIVERS, 'long story of the harbour ends'],
  },
  { path: '/shadow', about: 'in a shadow tree, with slots', words: [HARBOUR, TILES, DIVERS] },
  { path: '/frames', about: 'with a frame of the same host', words: [HARBOUR, TILES] },
  { path: '/arabic', about: 'written from right to left', words: ARABIC },
  { path: '/japanese', about: 'in Japanese', words: JAPANESE },
  { path: '/cyrillic-header', about: 'in windows-1251, as its header says', words: RUSSIAN },
  { path: '/cyrillic-meta', about: 'in windows-1251, as only itself says', words: RUSSIAN },
  { path: '/paper.pdf', about: 'that is a PDF', words: PDF_LINES },
  { path: '/notes.txt', about: 'that is plain text', words: [HARBOUR, TILES] },
  { path: '/data.json', about: 'that is JSON', words: [HARBOUR] },
]
