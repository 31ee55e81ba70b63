// OpenID provider of the tests: `node provider.mjs PAGE CLIENT [SECONDS [refresh]]` knows one client, which logins
// lead back to at PAGE; whoever says a name is that person. Tokens end after SECONDS, with refresh tokens where that is
// asked for. They come from another origin than the issuer's, as large providers have it. It prints its own address.
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [page, client, seconds = "600", refresh = ""] = process.argv.slice(2);

function listening() {
  const server = createServer();
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

const servers = [await listening(), await listening()];
const [issuer, tokens] = servers.map((server) => `http://127.0.0.1:${server.address().port}`);
const resource = {
  scope: "explain",
  audience: "onnxplain",
  accessTokenFormat: "jwt",
  accessTokenTTL: Number(seconds),
  jwt: { sign: { alg: "RS256" } },
};
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: client,
      redirect_uris: [page],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      application_type: "native",
    },
  ],
  scopes: ["openid", "explain"],
  issueRefreshToken: () => refresh === "refresh",
  pkce: { required: () => true },
  cookies: { keys: ["of-tests"] },
  features: {
    resourceIndicators: {
      enabled: true,
      defaultResource: () => "urn:onnxplain",
      useGrantedResource: () => true,
      getResourceServerInfo: () => resource,
    },
  },
});
provider.use(async (context, next) => {
  await next();
  if (context.oidc?.route !== "discovery") return;
  context.body.token_endpoint = context.body.token_endpoint.replace(issuer, tokens);
});
for (const server of servers) server.on("request", provider.callback());
console.log(issuer);
