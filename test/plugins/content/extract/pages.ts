import { extract } from '../../../../plugins/content/extract/extract.ts'
import type { Article, ExtractOptions } from '../../../../plugins/content/extract/index.ts'

export const URL_OF_PAGE = 'https://news.example/2026/05/harbour.html'

const SENTENCES = [
  'The harbour of the old town will be closed to ferries from Monday, the port authority said.',
  'Divers found cracks in two of the eleven pillars, which were built of oak in the year 1893.',
  'Repairs are expected to take four months, and will be paid for by the district and the state.',
  'Until then, ships will land at the fish market, a walk of ten minutes to the west.',
  'Restaurants along the quay fear for their summer: “We live from the people who wait here.”',
  'The council meets on Thursday to decide about help for them, and about a bus to the market.',
] as const

/** Paragraphs of an article with real sentences. */
export const PARAGRAPHS = SENTENCES.map((sentence) => `<p>${sentence}</p>`).join('\n')
export const TEXT = SENTENCES.join('\n\n')

/** A news page with typical surroundings of an article. */
export const page = (article: string, head = ''): string => `<!doctype html>
<html lang="en-GB"><head><meta charset="utf-8">
<title>Harbour closed for repairs - Coast Daily</title>${head}</head>
<body class="no-sidebar has-comments">
<div id="cookie-consent"><p>We and our 214 partners store cookies on your device, to measure how the
 site is used, and to show you advertisements. You may refuse at any time.</p></div>
<header role="banner"><a href="/">Coast Daily</a><p>Independent since 1901, and read.</p>
</header>
<nav><ul><li><a href="/politics">Politics</a></li><li><a href="/sport">Sport</a></li></ul></nav>
<main><article>
<h1>Harbour closed for repairs</h1>
<div class="byline">By <a rel="author" href="/staff/mara">Mara Holm</a></div>
${article}
<div class="social-share"><a href="https://social.example/share">Share</a></div>
</article>
<section class="related-articles"><h2>Related articles</h2>
<article><h3><a href="/a">Ferry company reports a loss for the third year in a row</a></h3>
<p>The company said that the price of fuel, and the weather of the spring, had cost it dearly.</p>
</article></section>
<section id="comments"><h2>12 comments</h2>
<p>I have said for years that nobody looks after these pillars, and nobody wanted to listen.</p>
<p>My grandfather helped to build them. He would not believe it, and neither do I, honestly.</p>
</section></main>
<aside class="sidebar"><h2>Most read</h2><ol><li><a href="/b">A whale was seen</a></li></ol></aside>
<footer><p>© 2026 Coast Daily Ltd. All rights reserved. Reproduction only with our permission.</p>
</footer></body></html>`

export const articleIn = (html: string, options?: ExtractOptions): Article =>
  extract(html, URL_OF_PAGE, options)
