/** English phrase first, then its translations; a translation finds the English phrase. */
export const FOREIGN = `
weather, météo, wetter, tiempo meteorológico, clima, tempo meteo, погода, 天气
weather forecast, prévisions météo, wettervorhersage, pronóstico del tiempo, previsioni meteo
rain, pluie, regen, lluvia, pioggia, chuva
temperature, température, temperatur, temperatura
translation, traduction, übersetzung, traducción, traduzione, tradução, перевод, 翻译
translate, traduire, übersetzen, traducir, tradurre, traduzir
text, texte, texto, testo
document, dokument, documento, documentos, dokumente
image, bild, imagen, immagine, imagem, bilder, imágenes
photo, foto, fotos
video, vidéo, vídeo
voice, voix, stimme, voz, voce
text to speech, texto a voz, synthèse vocale, sprachausgabe, sintesi vocale
speech to text, voz a texto, reconnaissance vocale, spracherkennung, riconoscimento vocale
music, musique, musik, música, musica
summary, résumé de texte, zusammenfassung, resumen, riassunto, resumo
sentiment, stimmung, sentimiento, sentimento
news, nouvelles, nachrichten, noticias, notizie, notícias, actualités, 新闻
search, recherche, suche, búsqueda, ricerca, buscar, busca, поиск
price, prix, preis, precio, prezzo, preço, preise, precios
exchange rate, taux de change, wechselkurs, tipo de cambio, tasso di cambio, taxa de câmbio
currency, devise, währung, moneda, valuta, moeda
stock, aktie, acción de bolsa, azione, aktien, börse
stock price, cours de bourse, aktienkurs, cotización
bank account, bankkonto, cuenta bancaria, compte bancaire
invoice, facture, rechnung, factura, fattura, fatura, facturas, rechnungen
receipt, reçu, quittung, kassenbon, recibo, ricevuta
tax, impôt, steuer, impuesto, imposta
company, entreprise, unternehmen, empresa, azienda, firma
company register, handelsregister, registro mercantil, registre du commerce
job, emploi, stellenangebote, empleo, lavoro, emprego
address, adresse, dirección, indirizzo, endereço
map, carte, karte, mapa, mappa
route, itinéraire, ruta, percorso
traffic, trafic, verkehr, tráfico
flight, vol, flug, vuelo, volo, voo, vuelos, flüge
hotel, hôtel, albergo
train, zug, tren, treno, trem
travel, voyage, reise, viaje, viaggio, viagem
car, voiture, auto, coche, carro
house, maison, haus, casa
apartment, appartement, wohnung, apartamento, appartamento
rent, loyer, miete, alquiler, affitto
email, courriel, correo electrónico
phone number, numéro de téléphone, telefonnummer, número de teléfono
message, nachricht, mensaje, messaggio
parcel, colis, paket, paquete, pacco
product, produit, produkt, producto, prodotto
shop, boutique, tienda, negozio, geschäft
recipe, recette, rezept, receta, ricetta
health, santé, gesundheit, salud, salute
doctor, médecin, arzt, médico, medico
medicine, médicament, medikament, medicamento, farmaco
law, loi, gesetz, ley, legge
court, tribunal, gericht, tribunale
contract, contrat, vertrag, contrato, contratto
tender, appel d'offres, ausschreibung, licitación, appalto
electricity, électricité, strom, electricidad, elettricità
electricity price, strompreis, precio de la luz, prix de l'électricité
holiday, jour férié, feiertag, festivo
password, mot de passe, passwort, contraseña
`

/** Broad phrase first, then narrower ones; a narrower phrase finds the broad one. */
export const NARROWER = `
weather, temperature, sunny, cloudy
currency, usd, eur, gbp, jpy, dollar, euro
stock, aapl, tsla, ticker, nasdaq, nyse
coin, bitcoin, dogecoin, solana
llm, chatgpt, gpt, claude, gemini, chat completion
language, english, german, french, spanish, japanese, chinese
marketplace, amazon, ebay
web search, google, bing
vacation rental, airbnb
slack, discord, teams
image generation, dalle, midjourney, stable diffusion, text to image
text to video, sora
speech to text, whisper, meeting recording
messaging, whatsapp, telegram
restaurant, pizza, cafe
malware, ransomware, trojan
logo, illustration
picture, logo
company data, firmographics
`
