// Shows the description that this server gives, and asks nobody else.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  queryConfigEnabled: false,
  tryItOutEnabled: true,
  validatorUrl: null,
});
