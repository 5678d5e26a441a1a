const pages = [
  ['index.html', 'Reference'],
  ['guide.html', 'Guide'],
  ['errors.html', 'Errors'],
  ['events.html', 'Events'],
] as const

/** Returns a page with the shared navigation. @param content HTML: text, or an element with its own styles */
export function page(title: string, content: string): string {
  const links = pages.map(([file, name]) => {
    const current = name === title ? ' aria-current="page"' : ''
    return `<a href="${file}"${current}>${name}</a>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – Commerce API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css">
</head>
<body>
<header><strong>Commerce API</strong><nav>${links.join(' ')}</nav></header>
${content}
</body>
</html>
`
}

/** Returns content as the text of a page. */
export function asText(content: string): string {
  return `<main class="text">\n${content}\n</main>`
}

export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}
