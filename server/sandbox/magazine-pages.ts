const page = (title: string, main: string, head = ''): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} | The Sandbox Magazine</title>
${head}</head>
<body>
<header><nav><a href="/">Home</a> <a href="/articles/tides">Tides</a>
<a href="/articles/bread">Bread</a> <a href="/members/letter">Members</a></nav></header>
<main>${main}</main>
<aside><h2>Read next</h2><ul><li><a href="/articles/bread">Bread</a></li></ul></aside>
<footer>The Sandbox Magazine. Made up, and free to copy.</footer>
</body>
</html>
`

const about = (author: string, day: string): string =>
  `<meta name="author" content="${author}">
<meta property="article:published_time" content="${day}T08:00:00Z">
`

const TIDES = `<article><h1>Why the tide comes twice a day</h1>
<p>The moon pulls at the sea, and the sea on the near side follows. That there is a second tide on
the far side surprises most people who hear of it for the first time.</p>
<h2 id="far-side">The far side</h2>
<p>The pull grows weaker with distance. The earth itself is pulled more than the water behind it,
so the water behind is left a little way back. Seen from the ground it rises, just as it does on
the near side.</p>
<h2>A table for sailors</h2>
<table><tr><th>Hour</th><th>Height</th></tr><tr><td>03:10</td><td>4.1 m</td></tr>
<tr><td>09:25</td><td>0.8 m</td></tr><tr><td>15:35</td><td>4.3 m</td></tr></table>
<p>Since the moon moves on while the earth turns, each day's tides come about fifty minutes
later.</p>
</article>`

const BREAD = `<article><h1>A loaf that needs no kneading</h1>
<p>Time does what hands do. Mixed loosely and left alone overnight, flour and water arrange
themselves into a dough that holds its shape.</p>
<h2>What it takes</h2>
<ul><li>400 g flour</li><li>300 g water</li><li>8 g salt</li><li>1 g yeast</li></ul>
<h2>What to do</h2>
<ol><li>Stir everything together until no flour is dry.</li>
<li>Cover it and wait twelve hours.</li>
<li>Bake it for forty minutes in a pot with a lid, as hot as the oven goes.</li></ol>
</article>`

const LETTER = '<article><h1>A letter to members</h1><p>This page is not for sale.</p></article>'

const NOTES = `Tonight the observatory is open until two in the morning. Visitors may look at
Saturn, whose rings stand nearly on edge this year, and at the cluster that sailors once tested
their eyes by.`

/** Page that is empty without a browser: a script writes its text. */
const OBSERVATORY = `<div id="app"></div>
<script>
  const notes = ${JSON.stringify(NOTES)}
  setTimeout(() => {
    document.getElementById('app').innerHTML =
      '<article><h1>Notes from the observatory</h1><p>' + notes + '</p></article>'
  }, 50)
</script>`

/** Pages of the sample magazine, by path. */
export const MAGAZINE_PAGES: Readonly<Record<string, string>> = {
  '/': page('Home', '<h1>The Sandbox Magazine</h1><p>Two articles, and notes by a script.</p>'),
  '/articles/tides': page('Tides', TIDES, about('Ines Duarte', '2026-10-03')),
  '/articles/bread': page('Bread', BREAD, about('Tomas Lind', '2026-11-07')),
  '/articles/observatory': page('Observatory', OBSERVATORY, about('Ines Duarte', '2026-11-14')),
  '/members/letter': page('Members', LETTER),
}
