// Shows openapi.json, with the token of the local run if there is one.
const service = read('service.json')

const ui = SwaggerUIBundle({
  dom_id: '#reference',
  url: 'openapi.json',
  deepLinking: true,
  filter: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  docExpansion: 'list',
  tryItOutEnabled: true,
  validatorUrl: null,
  onComplete: async () => {
    const { token } = await service
    if (token) ui.preauthorizeApiKey('bearer', token)
  },
})

async function read(file) {
  const response = await fetch(file)
  return response.json()
}
